// Two threads nest the locks of neighbouring cells in both directions, but a cell belongs to the thread that drew its number, and they drew different ones.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { pthread_mutex_t a, b; } cells[4];
static int next;

static void *works(void *p) {
	for (int turns = 0; turns < 2; turns++) {
		pthread_mutex_lock(&lock);
		int i = next++;
		pthread_mutex_unlock(&lock);
		if (p)
			nest(&cells[i].a, &cells[i].b);
		else
			nest(&cells[i].b, &cells[i].a);
		rest(3);
	}
	return NULL;
}

int main(void) {
	for (int i = 0; i < 4; i++) {
		pthread_mutex_init(&cells[i].a, NULL);
		pthread_mutex_init(&cells[i].b, NULL);
	}
	pthread_t s = start(works, &lock), t = start(works, NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return next != 4;
}
