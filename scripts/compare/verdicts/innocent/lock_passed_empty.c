// The halves are under no lock, but the first ends with an empty critical section which a flag, set in it, orders before the second's.
// watch: data
#include "halves.h"

static pthread_mutex_t fence = PTHREAD_MUTEX_INITIALIZER;
static int published;

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&fence);
	published = 1;
	pthread_mutex_unlock(&fence);
	return unused;
}

static void *second(void *unused) {
	for (int seen = 0; !seen; rest(2)) {
		pthread_mutex_lock(&fence);
		seen = published;
		pthread_mutex_unlock(&fence);
	}
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
