// Who cannot have the lock at once changes the counter without it.
//
// expect: race count
// watch: count
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void add(long n) {
	int have = !pthread_mutex_trylock(&lock);
	chance();
	count += n;
	if (have)
		pthread_mutex_unlock(&lock);
}

static void *first(void *unused) {
	add(1);
	return unused;
}

static void *second(void *unused) {
	later(1);
	add(2);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return count != 3;
}
