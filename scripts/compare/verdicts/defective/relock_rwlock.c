// A reader that finds the table too small asks for the write lock of the rwlock that it still
// holds; the call is refused and it writes all the same.
//
// expect: misuse table
#include <pthread.h>

#include "fortune.h"

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static int size = 1;

static void *grow(void *unused) {
	pthread_rwlock_wrlock(&table);
	if (size < 2) {
		pthread_rwlock_wrlock(&table);
		size = 2;
	}
	pthread_rwlock_unlock(&table);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, grow, 0);
	pthread_join(t, 0);
	return size != 2;
}
