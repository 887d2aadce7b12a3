// Handlers in two threads nest locks on one alternate stack in opposite orders, but the first thread had unmapped its stack before the other mapped one there.
#define _GNU_SOURCE
#include "turns.h"
#include <signal.h>
#include <sys/mman.h>

static __thread int swap;

static void handler(int n) {
	pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	nest(&m[swap], &m[!swap]);
}

static void *raises(void *p) {
	swap = p != NULL;
	rest(swap * 20);
	stack_t s = {.ss_size = 1 << 16}, off = {.ss_flags = SS_DISABLE};
	s.ss_sp = mmap(NULL, s.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&s, NULL);
	raise(SIGUSR1);
	sigaltstack(&off, NULL);
	munmap(s.ss_sp, s.ss_size);
	return NULL;
}

int main(void) {
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &act, NULL);
	pthread_t s = start(raises, NULL), t = start(raises, &swap);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
