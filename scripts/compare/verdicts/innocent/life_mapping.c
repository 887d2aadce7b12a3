// Locks in two mappings at one address are nested in opposite orders, but the first mapping was removed before the kernel made the second there.
#define _GNU_SOURCE
#include "turns.h"
#include <sys/mman.h>

static pthread_mutex_t *map(void) {
	void *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(p != MAP_FAILED, "mmap");
	return p;
}

static void *forth(void *unused) {
	pthread_mutex_t *m = map();
	nest(&m[0], &m[1]);
	munmap(m, 1 << 16);
	return unused;
}

static void *back(void *unused) {
	rest(20);
	pthread_mutex_t *m = map();
	nest(&m[1], &m[0]);
	munmap(m, 1 << 16);
	return unused;
}

int main(void) {
	both(forth, back);
	return 0;
}
