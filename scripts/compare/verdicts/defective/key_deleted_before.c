// What belongs to a key of thread-specific data is counted after the key was deleted, when another thread may have been given it.
//
// expect: race uses
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static long uses[1024];

static pthread_key_t created(void) {
	pthread_key_t key;
	if (pthread_key_create(&key, 0) || key > 1023)
		_exit(1);
	return key;
}

static void *counts_late(void *p) {
	pthread_key_t key = created();
	pthread_key_delete(key);
	chance();
	uses[key]++;
	return p;
}

static void *counts(void *p) {
	later(2);
	pthread_key_t key = created();
	uses[key]++;
	pthread_key_delete(key);
	return p;
}

int main(void) {
	pthread_t s, t;
	pthread_create(&s, 0, counts_late, 0);
	pthread_create(&t, 0, counts, 0);
	pthread_join(s, 0);
	pthread_join(t, 0);
	return 0;
}
