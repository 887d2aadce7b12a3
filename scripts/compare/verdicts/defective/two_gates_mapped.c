// Locks nest both ways, each way under a process-shared mutex of shared memory that is mapped twice: but they are two mutexes, side by side.
//
// watch: counted
// expect: race counted
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fortune.h"

static pthread_mutex_t *here, *there;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static long counted;

static void *first(void *unused) {
	pthread_mutex_lock(&here[0]);
	counted++;
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&two);
	pthread_mutex_unlock(&two);
	pthread_mutex_unlock(&one);
	pthread_mutex_unlock(&here[0]);
	return unused;
}

static void *second(void *unused) {
	later(1);
	pthread_mutex_lock(&there[1]);
	counted++;
	pthread_mutex_lock(&two);
	pthread_mutex_lock(&one);
	pthread_mutex_unlock(&one);
	pthread_mutex_unlock(&two);
	pthread_mutex_unlock(&there[1]);
	return unused;
}

int main(void) {
	pthread_mutexattr_t shared;
	pthread_t x, y;
	int fd = memfd_create("gates", 0);
	if (ftruncate(fd, 4096))
		return 1;
	here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (here == MAP_FAILED || there == MAP_FAILED)
		return 1;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&here[0], &shared);
	pthread_mutex_init(&here[1], &shared);
	pthread_create(&x, NULL, first, NULL);
	pthread_create(&y, NULL, second, NULL);
	pthread_join(x, NULL);
	pthread_join(y, NULL);
	return counted != 2;
}
