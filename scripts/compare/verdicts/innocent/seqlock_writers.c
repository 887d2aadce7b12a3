// Several writers of a sequence lock change plain counters that nobody else reads while they do, but a mutex keeps the writers apart, and readers only read atomics.
// watch: writes_done
#include "turns.h"
#include <stdatomic.h>

static struct {
	pthread_mutex_t writer;
	atomic_uint sequence;
	atomic_int x, y;
} *point;
static long writes_done;

static void *moves(void *unused) {
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&point->writer);
		atomic_fetch_add(&point->sequence, 1);
		atomic_fetch_add(&point->x, 1);
		atomic_fetch_sub(&point->y, 1);
		writes_done++;
		atomic_fetch_add(&point->sequence, 1);
		pthread_mutex_unlock(&point->writer);
		rest(2);
	}
	return unused;
}

static void *looks(void *unused) {
	for (int i = 0; i < 10; i++, rest(1)) {
		unsigned s;
		int sum;
		do {
			s = atomic_load(&point->sequence);
			sum = atomic_load(&point->x) + atomic_load(&point->y);
		} while (s % 2 || s != atomic_load(&point->sequence));
		need(!sum, "torn");
	}
	return unused;
}

int main(void) {
	point = calloc(1, sizeof *point);
	pthread_mutex_init(&point->writer, NULL);
	pthread_t t = start(looks, NULL);
	both(moves, moves);
	pthread_join(t, NULL);
	pthread_mutex_destroy(&point->writer);
	free(point);
	return writes_done != 10;
}
