// Two threads nest mutexes in opposite orders under no common lock, but a counter that each changes under a lock says whose turn it is.
// watch: data
#include "halves.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stage;

static int reached(int wanted) {
	pthread_mutex_lock(&lock);
	int yes = stage >= wanted;
	pthread_mutex_unlock(&lock);
	return yes;
}

static void *first(void *unused) {
	early();
	rest(10);
	pthread_mutex_lock(&lock);
	stage++;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *second(void *unused) {
	while (!reached(1))
		rest(2);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
