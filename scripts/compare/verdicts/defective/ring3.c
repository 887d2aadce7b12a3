// Three locks in a ring: each of three threads holds one and wants the next, so no two of them are
// enough and no function shows the cycle.
//
// expect: deadlock fork_a fork_b fork_c
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t fork_a = PTHREAD_MUTEX_INITIALIZER, fork_b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_c = PTHREAD_MUTEX_INITIALIZER;
static int meals;

static void eat(pthread_mutex_t *left, pthread_mutex_t *right) {
	pthread_mutex_lock(left);
	chance();
	pthread_mutex_lock(right);
	__atomic_fetch_add(&meals, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(right);
	pthread_mutex_unlock(left);
}

static void *one(void *unused) {
	eat(&fork_a, &fork_b);
	return unused;
}

static void *two(void *unused) {
	later(1);
	eat(&fork_b, &fork_c);
	return unused;
}

static void *three(void *unused) {
	later(2);
	eat(&fork_c, &fork_a);
	return unused;
}

int main(void) {
	pthread_t t[3];
	void *(*routines[])(void *) = {one, two, three};
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, routines[i], 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return meals != 3;
}
