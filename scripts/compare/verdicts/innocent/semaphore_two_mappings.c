// The semaphore lies in shared memory that is mapped twice, so that its two addresses differ: the post by one is the wait by the other.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

static sem_t *here, *there;

static void *first(void *unused) {
	early();
	rest(15);
	sem_post(here);
	return unused;
}

static void *second(void *unused) {
	while (sem_wait(there))
		;
	late();
	return unused;
}

int main(void) {
	int fd = memfd_create("semaphore", 0);
	need(!ftruncate(fd, 4096), "ftruncate");
	here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sem_init(here, 1, 0);
	both(first, second);
	return data != 42;
}
