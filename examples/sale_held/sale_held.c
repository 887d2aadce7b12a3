// As sale, but the seller holds the lock of the stock from the look to the entry.
#define HOLD
#include "../sale/sale.c"
