// main joins threads with a mutex held that their kind uses elsewhere, but the threads that it joins with it held do not take it.
#include "turns.h"

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER, work = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *adds(void *p) {
	if (p) {
		pthread_mutex_lock(&registry);
		sum++;
		pthread_mutex_unlock(&registry);
	}
	pthread_mutex_lock(&work);
	sum++;
	pthread_mutex_unlock(&work);
	return NULL;
}

int main(void) {
	pthread_join(start(adds, &sum), NULL);
	pthread_t t = start(adds, NULL);
	pthread_mutex_lock(&registry);
	pthread_join(t, NULL);
	pthread_mutex_unlock(&registry);
	return sum != 3;
}
