// The data is changed after an unlock of the mutex, but this is a recursive one that was locked twice and is still held.
// watch: total
#include "turns.h"

static pthread_mutex_t lock;
static long total;

static void *adds(void *unused) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_trylock(&lock);
		pthread_mutex_unlock(&lock);
		total++;
		pthread_mutex_unlock(&lock);
		rest(2);
	}
	return unused;
}

int main(void) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &a);
	both(adds, adds);
	pthread_mutex_destroy(&lock);
	return total != 6;
}
