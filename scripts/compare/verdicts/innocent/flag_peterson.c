// Peterson's algorithm keeps the threads apart by plain stores and loads, but of sequentially consistent atomics, so that it is right.
// watch: total
#include "turns.h"
#include <stdatomic.h>

static atomic_int wants[2], turn;
static long total;

static void *adds(void *p) {
	long me = (long)p;
	for (int i = 0; i < 5; i++) {
		wants[me] = 1;
		turn = !me;
		while (wants[!me] && turn == !me)
			;
		total++;
		wants[me] = 0;
		rest(1);
	}
	return NULL;
}

int main(void) {
	pthread_t s = start(adds, (void *)0), t = start(adds, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return total != 10;
}
