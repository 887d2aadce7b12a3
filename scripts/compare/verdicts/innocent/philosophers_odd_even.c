// Four philosophers take the forks beside them, some the left and some the right one first, but odd and even ones differ so that no ring closes.
#include "turns.h"

static pthread_mutex_t forks[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *dines(void *p) {
	long i = (long)p;
	for (int n = 0; n < 3; n++, rest(2))
		if (i % 2)
			nest(&forks[i], &forks[(i + 1) % 4]);
		else
			nest(&forks[(i + 1) % 4], &forks[i]);
	return NULL;
}

int main(void) {
	pthread_t t[4];
	for (long i = 0; i < 4; i++)
		t[i] = start(dines, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
