// Locks nest both ways, but always under one spin lock, which lies in shared memory that is mapped twice: the two addresses by which it is locked are one lock.
// watch: counted
#define _GNU_SOURCE
#include "turns.h"
#include <sys/mman.h>
#include <unistd.h>

static pthread_spinlock_t *here, *there;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static long counted;

static void *first(void *unused) {
	pthread_spin_lock(here);
	counted++;
	nest(&one, &two);
	pthread_spin_unlock(here);
	return unused;
}

static void *second(void *unused) {
	rest(30);
	pthread_spin_lock(there);
	counted++;
	nest(&two, &one);
	pthread_spin_unlock(there);
	return unused;
}

int main(void) {
	int fd = memfd_create("gate", 0);
	need(!ftruncate(fd, 4096), "ftruncate");
	here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(here != MAP_FAILED && there != MAP_FAILED, "mmap");
	pthread_spin_init(here, PTHREAD_PROCESS_SHARED);
	both(first, second);
	return counted != 2;
}
