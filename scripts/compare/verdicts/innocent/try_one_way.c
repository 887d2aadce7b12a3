// Mutexes are nested in opposite orders, but one thread only tries its second one (trylock), and lets go of the first if it is taken.
#include "turns.h"

static pthread_mutex_t page = PTHREAD_MUTEX_INITIALIZER, list = PTHREAD_MUTEX_INITIALIZER;

static void *forth(void *unused) {
	nest(&list, &page);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	for (int done = 0; !done;) {
		pthread_mutex_lock(&page);
		if (!pthread_mutex_trylock(&list)) {
			done = 1;
			pthread_mutex_unlock(&list);
		}
		pthread_mutex_unlock(&page);
	}
	return unused;
}

int main(void) {
	both(forth, back);
	return 0;
}
