// The result of locking a robust mutex is ignored: it says that the owner has died, the unlock makes the mutex unusable, and later threads go in without it.
//
// expect: misuse
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock;
static long count;

static void *dies(void *unused) {
	pthread_mutex_lock(&lock);
	count++;
	return unused;
}

static void *adds(void *p) {
	later((int)(long)p);
	pthread_mutex_lock(&lock);
	count++;
	pthread_mutex_unlock(&lock);
	return 0;
}

int main(void) {
	pthread_t t[3];
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&lock, &a);
	pthread_create(&t[0], 0, dies, 0);
	for (long i = 1; i < 3; i++)
		pthread_create(&t[i], 0, adds, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return count != 3;
}
