// A thread takes the locks of two stripes in any textual order and other threads others, but always the lower stripe first, by the hash of its keys.
// watch: shared
#include "turns.h"

enum { STRIPES = 4 };
static pthread_mutex_t locks[STRIPES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static long counts[STRIPES];

static void move(unsigned from, unsigned to) {
	unsigned low = from < to ? from : to, high = from < to ? to : from;
	pthread_mutex_lock(&locks[low]);
	if (high != low)
		pthread_mutex_lock(&locks[high]);
	counts[from]--;
	counts[to]++;
	if (high != low)
		pthread_mutex_unlock(&locks[high]);
	pthread_mutex_unlock(&locks[low]);
}

static void *moves(void *p) {
	unsigned key = p ? 3 : 1;
	for (int i = 0; i < 8; i++, rest(1)) {
		unsigned to = (key * 7 + i) % STRIPES;
		move(key, to);
		key = to;
	}
	return NULL;
}

int main(void) {
	pthread_t s = start(moves, NULL), t = start(moves, &counts);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return counts[0] + counts[1] + counts[2] + counts[3];
}
