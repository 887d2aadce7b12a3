// A thread that holds the lock of a tree tries that of a page again and again, but lets go of the tree between its tries, so that
// a thread which locks the page and then the tree goes on.
#include "turns.h"

static pthread_mutex_t tree = PTHREAD_MUTEX_INITIALIZER, page = PTHREAD_MUTEX_INITIALIZER;

static void *split(void *unused) {
	pthread_mutex_lock(&tree);
	while (pthread_mutex_trylock(&page) != 0) {
		pthread_mutex_unlock(&tree);
		rest(1);
		pthread_mutex_lock(&tree);
	}
	pthread_mutex_unlock(&page);
	pthread_mutex_unlock(&tree);
	return unused;
}

static void *reader(void *unused) {
	rest(20);
	nest(&page, &tree);
	return unused;
}

int main(void) {
	pthread_t s = start(split, NULL), t = start(reader, NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
