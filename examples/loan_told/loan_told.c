// The innocent twin of loan: the clerk looks into the ledger first.
#define READ_FIRST
#include "../loan/loan.c"
