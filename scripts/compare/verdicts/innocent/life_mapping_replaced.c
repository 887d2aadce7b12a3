// Locks at one address are nested in opposite orders, but a new mapping (MAP_FIXED) replaced the first locks, when its thread had said by a semaphore that it is through.
#define _GNU_SOURCE
#include "turns.h"
#include <semaphore.h>
#include <sys/mman.h>

static pthread_mutex_t *page;
static sem_t through;

static void map(void *where, int how) {
	page = mmap(where, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
	need(page != MAP_FAILED, "mmap");
}

static void *forth(void *unused) {
	nest(&page[0], &page[1]);
	sem_post(&through);
	return unused;
}

static void *back(void *unused) {
	while (sem_wait(&through))
		;
	map(page, MAP_FIXED);
	nest(&page[1], &page[0]);
	return unused;
}

int main(void) {
	sem_init(&through, 0, 0);
	map(NULL, 0);
	both(forth, back);
	munmap(page, 4096);
	sem_destroy(&through);
	return 0;
}
