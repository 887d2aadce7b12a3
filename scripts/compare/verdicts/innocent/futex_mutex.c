// Two threads change a counter and nest real mutexes in opposite orders, but inside a mutex of their own made of an atomic word and the futex call.
// watch: count
#define _GNU_SOURCE
#include "turns.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int word; // 0 free, 1 taken, 2 taken and waited for
static pthread_mutex_t up = PTHREAD_MUTEX_INITIALIZER, down = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void enter(void) {
	int seen = 0;
	if (atomic_compare_exchange_strong(&word, &seen, 1))
		return;
	while (atomic_exchange(&word, 2) != 0)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void leave(void) {
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *forth(void *unused) {
	enter();
	count++;
	nest(&up, &down);
	leave();
	return unused;
}

static void *back(void *unused) {
	rest(15);
	enter();
	count++;
	nest(&down, &up);
	leave();
	return unused;
}

int main(void) {
	both(forth, back);
	return count != 2;
}
