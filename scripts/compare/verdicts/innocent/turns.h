// What the innocent programs have in common. A pause puts the parts of a program into one order of
// time and makes no order that a program relies on.
#ifndef TURNS_H
#define TURNS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void *routine(void *);

static inline void rest(long milliseconds) {
	struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static inline void need(int good, const char *what) {
	if (!good) {
		perror(what);
		_Exit(1);
	}
}

static inline pthread_t start(routine *r, void *argument) {
	pthread_t t;
	need(!pthread_create(&t, NULL, r, argument), "pthread_create");
	return t;
}

// both runs two routines in threads of their own, and joins them.
static inline void both(routine *x, routine *y) {
	pthread_t s = start(x, NULL), t = start(y, NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
}

// kept returns p, and hides from the compiler that the memory could be left out.
static inline void *kept(void *p) {
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

// own_cache lets malloc make what it keeps for this thread, so that the next block can lie where another thread's was.
static inline void own_cache(void) {
	free(kept(malloc(1)));
}

static inline void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

#endif
