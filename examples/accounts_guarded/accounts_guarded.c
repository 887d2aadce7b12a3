// The innocent twin of accounts: a lock of the bank guards the whole of a transfer, and of a balance.
#define GUARDED
#include "../accounts/accounts.c"
