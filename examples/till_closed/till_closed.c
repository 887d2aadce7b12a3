// The innocent twin of till: the auditor counts before the cashier begins.
#define CLOSED
#include "../till/till.c"
