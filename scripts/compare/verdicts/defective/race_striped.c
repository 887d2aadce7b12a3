// Eight cells have four locks: one function takes the lock of the cell's number modulo four, the
// other that of the number divided by two.
//
// expect: race cells
// watch: shared
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t locks[4];
static int cells[8];

static void *put(void *cell) {
	long i = (long)cell;
	chance();
	pthread_mutex_lock(&locks[i % 4]);
	cells[i]++;
	pthread_mutex_unlock(&locks[i % 4]);
	return 0;
}

static void *take(void *cell) {
	long i = (long)cell;
	later(1);
	pthread_mutex_lock(&locks[i / 2]);
	cells[i]--;
	pthread_mutex_unlock(&locks[i / 2]);
	return 0;
}

int main(void) {
	pthread_t t, u;
	for (int i = 0; i < 4; i++)
		pthread_mutex_init(&locks[i], 0);
	pthread_create(&t, 0, put, (void *)5);
	pthread_create(&u, 0, take, (void *)5);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return cells[5];
}
