// Three hundred philosophers, all of whom take the left fork first.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

enum { N = 300 };
static pthread_mutex_t forks[N];

static void *eats(void *p) {
	long i = (long)p;
	pthread_mutex_lock(&forks[i]);
	chance();
	pthread_mutex_lock(&forks[(i + 1) % N]);
	pthread_mutex_unlock(&forks[(i + 1) % N]);
	pthread_mutex_unlock(&forks[i]);
	return p;
}

int main(void) {
	pthread_t t[N];
	for (int i = 0; i < N; i++)
		pthread_mutex_init(&forks[i], 0);
	for (long i = 0; i < N; i++)
		pthread_create(&t[i], 0, eats, (void *)i);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], 0);
	return 0;
}
