// Readers of the variable hold one of two locks, and so share none with each other, but every writer holds both.
// watch: value
#include "turns.h"

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *writes(void *unused) {
	for (int i = 0; i < 4; i++, rest(2)) {
		pthread_mutex_lock(&p);
		pthread_mutex_lock(&q);
		value++;
		pthread_mutex_unlock(&q);
		pthread_mutex_unlock(&p);
	}
	return unused;
}

static void *reads(void *m) {
	for (int i = 0; i < 4; i++, rest(2)) {
		pthread_mutex_lock(m);
		need(value >= 0, "value");
		pthread_mutex_unlock(m);
	}
	return NULL;
}

int main(void) {
	pthread_t s = start(reads, &p), t = start(reads, &q);
	pthread_join(start(writes, NULL), NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return value != 4;
}
