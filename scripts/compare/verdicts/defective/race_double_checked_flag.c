// A table is filled once under a lock, but whether it is filled is asked without it first, and then
// it is read.
//
// expect: race filled
// watch: shared
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int filled, squares[8];

static int square(int n) {
	if (!filled) {
		pthread_mutex_lock(&lock);
		if (!filled) {
			for (int i = 0; i < 8; i++)
				squares[i] = i * i;
			filled = 1;
		}
		pthread_mutex_unlock(&lock);
	}
	return squares[n];
}

static void *ask(void *step) {
	later((int)(long)step);
	return (void *)(long)square(3);
}

int main(void) {
	pthread_t t, u;
	void *a, *b;
	pthread_create(&t, 0, ask, (void *)0);
	pthread_create(&u, 0, ask, (void *)1);
	pthread_join(t, &a);
	pthread_join(u, &b);
	return a != b;
}
