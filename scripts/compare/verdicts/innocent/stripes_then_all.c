// A resize takes all stripes, nested, and an insert one stripe and then the table's own lock, but the resize takes the stripes in ascending order and the table's lock after them.
// watch: size
// build: -O2 -static
#include "turns.h"

static pthread_mutex_t stripe[4], table = PTHREAD_MUTEX_INITIALIZER;
static long size, capacity = 4;

static void resize(void) {
	for (int i = 0; i < 4; i++)
		pthread_mutex_lock(&stripe[i]);
	pthread_mutex_lock(&table);
	if (size > capacity)
		capacity *= 2;
	pthread_mutex_unlock(&table);
	for (int i = 0; i < 4; i++)
		pthread_mutex_unlock(&stripe[i]);
}

static void *inserts(void *p) {
	for (long i = 0; i < 6; i++) {
		int s = (int)((i * 3 + (long)p) % 4);
		pthread_mutex_lock(&stripe[s]);
		pthread_mutex_lock(&table);
		int full = ++size > capacity;
		pthread_mutex_unlock(&table);
		pthread_mutex_unlock(&stripe[s]);
		if (full)
			resize();
	}
	return NULL;
}

int main(void) {
	for (int i = 0; i < 4; i++)
		pthread_mutex_init(&stripe[i], NULL);
	pthread_t t = start(inserts, (void *)0), u = start(inserts, (void *)1);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return size != 12;
}
