// Two threads that take two locks in opposite orders, one after the other:
// the second begins long after the first has ended, which is no order, so that
// any other schedule may bring them together. (A flag would order them, for it
// is seen that a thread waits for one.)
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER, right_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void nap(void) {
	struct timespec t = {0, 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void *left_first(void *unused) {
	pthread_mutex_lock(&left_lock);
	pthread_mutex_lock(&right_lock);
	pthread_mutex_unlock(&right_lock);
	pthread_mutex_unlock(&left_lock);
	return unused;
}

static inline void later(void) {
	for (int i = 0; i < 50; i++)
		nap();
}

__attribute__((noinline)) static void *right_first(void *unused) {
	later();
	pthread_mutex_lock(&right_lock);
	pthread_mutex_lock(&left_lock);
	pthread_mutex_unlock(&left_lock);
	pthread_mutex_unlock(&right_lock);
	return unused;
}

__attribute__((unused)) static void twist(void) {
	pthread_t a, b;
	if (pthread_create(&a, NULL, left_first, NULL) || pthread_create(&b, NULL, right_first, NULL))
		abort();
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

__attribute__((unused)) static void say(const char *line) {
	puts(line);
	fflush(stdout);
}
