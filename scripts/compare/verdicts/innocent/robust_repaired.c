// A thread ends while it holds a robust mutex and the next one finds the data half done, but it is told so, repairs the data and makes the mutex consistent.
// watch: low, high
#include "turns.h"
#include <errno.h>

static pthread_mutex_t lock;
static long low, high;

static void locks(void) {
	int e = pthread_mutex_lock(&lock);
	if (e == EOWNERDEAD) {
		high = low;
		pthread_mutex_consistent(&lock);
	} else {
		need(!e, "lock");
	}
}

static void *dies(void *unused) {
	locks();
	low++;
	return unused;
}

static void *works(void *unused) {
	for (int i = 0; i < 3; i++) {
		locks();
		low++;
		high++;
		pthread_mutex_unlock(&lock);
		rest(2);
	}
	return unused;
}

int main(void) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&lock, &a);
	both(dies, works);
	locks();
	need(low == high, "halves");
	pthread_mutex_unlock(&lock);
	pthread_mutex_destroy(&lock);
	return 0;
}
