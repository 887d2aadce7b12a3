// Statistics are reset by memset without the lock under which the other thread counts.
//
// expect: race
// watch: stats.requests
#include <pthread.h>
#include <string.h>

#include "fortune.h"

static struct {
	long requests, errors, bytes[30];
} stats;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void clear(void *what, unsigned long size) {
	memset(what, 0, size);
}

static void *count(void *unused) {
	chance();
	pthread_mutex_lock(&lock);
	stats.requests++;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *reset(void *unused) {
	later(1);
	clear(&stats, sizeof stats);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, count, 0);
	pthread_create(&u, 0, reset, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
