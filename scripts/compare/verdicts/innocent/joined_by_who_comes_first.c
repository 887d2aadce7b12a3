// Either of two threads may join the third one: who takes the note of it off, under a mutex, joins it, and the other one does not.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t worker;
static int to_join;

static void *works(void *unused) {
	rest(50);
	return unused;
}

static void *collects(void *unused) {
	pthread_mutex_lock(&lock);
	int mine = to_join;
	to_join = 0;
	pthread_mutex_unlock(&lock);
	if (mine)
		pthread_join(worker, NULL);
	rest(100);
	return unused;
}

int main(void) {
	to_join = 1;
	worker = start(works, NULL);
	both(collects, collects);
	return to_join;
}
