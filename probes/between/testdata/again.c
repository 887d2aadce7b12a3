// Functions that lock a mutex again, and unlock it, between the calls that lock two; see locks.c.
#include <pthread.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int flag, table[8];

#define AGAIN(within) pthread_mutex_lock(&a); pthread_mutex_lock(&a); within; pthread_mutex_unlock(&a); pthread_mutex_lock(&b)
#define F __attribute__((noinline, noclone)) void

F yes_again(int n) { AGAIN(table[n] = 1); }
F no_again_and_reads(int n) { AGAIN(if (flag) table[n] = 1); }

#define CALL(f) f(argc)
int main(int argc, char **argv) {
#include "calls.h"
	return 0;
}
