// Functions that store 0x5eed once, at the access that a query asks about, behind the first call that locks a mutex;
// see locks.c.
#include <pthread.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
volatile int flag, table[8], target;
volatile int *pointer = &target;

#define BOTH(within, after) pthread_mutex_lock(&a); within; pthread_mutex_unlock(&a); after; pthread_mutex_lock(&b); pthread_mutex_unlock(&b)
#define F __attribute__((noinline, noclone)) void
#define STORE(to) to = 0x5eed

F yes_within(int n) { BOTH(STORE(table[n & 7]), ); }
F yes_after(int n) { BOTH(, STORE(table[n & 7])); }
F yes_before_branch(int n) { BOTH(, STORE(target); if (flag) table[n & 7] = 1); }
F yes_in_loop(int n) { BOTH(, for (int i = 0; i < n; i++) STORE(table[i & 7])); }
F no_branch(int n) { BOTH(if (flag) STORE(target), ); }
F no_branch_after(int n) { BOTH(, if (flag) STORE(target)); }
F no_address(int n) { BOTH(STORE(*pointer), ); }
F no_address_kept(int n) { BOTH(volatile int *p = pointer, STORE(*p)); }
F no_index(int n) { BOTH(, STORE(table[flag & 7])); }
F no_loop(int n) { BOTH(, do { STORE(target); } while (!flag)); }

#define CALL(f) f(argc)
int main(int argc, char **argv) {
#include "calls.h"
	return 0;
}
