// Both threads count hits in a cache while they hold its lock, but only for reading, which lets
// both in.
//
// expect: race hits
// watch: hits
#include <pthread.h>

#include "fortune.h"

static pthread_rwlock_t cache = PTHREAD_RWLOCK_INITIALIZER;
static int hits, size = 4;

static void *look_up(void *step) {
	later((int)(long)step);
	pthread_rwlock_rdlock(&cache);
	chance();
	if (size)
		hits++;
	pthread_rwlock_unlock(&cache);
	return 0;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, look_up, (void *)0);
	pthread_create(&u, 0, look_up, (void *)1);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return hits != 2;
}
