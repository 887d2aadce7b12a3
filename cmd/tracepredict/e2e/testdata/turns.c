/*
 * Two threads change data in turns, which a number on the heap says. The probes of the last change and of the store
 * of the number are at one instruction, behind both.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct game {
	_Atomic int turn;
	int data;
};

static void *first(void *p)
{
	struct game *g = p;

	if (atomic_load_explicit(&g->turn, memory_order_acquire) == 0) {
#ifndef LATE
		g->data++;
#endif
		atomic_store_explicit(&g->turn, 1, memory_order_release);
#ifdef LATE
		g->data++;
#endif
	}
	return 0;
}

static void *second(void *p)
{
	struct game *g = p;

	usleep(30000);
	if (atomic_load_explicit(&g->turn, memory_order_acquire) == 1)
		g->data++;
	return 0;
}

int main(void)
{
	struct game *g = calloc(1, sizeof *g);
	pthread_t t, u;

	if (pthread_create(&t, 0, first, g) || pthread_create(&u, 0, second, g))
		return 1;
	pthread_join(t, 0);
	pthread_join(u, 0);
	free(g);
	return 0;
}
