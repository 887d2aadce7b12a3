// A thread waits at a barrier with a mutex held that others take as well, but they take it only behind the barrier.
#include "turns.h"

static pthread_mutex_t config = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begin;
static int value;

static void *leads(void *unused) {
	pthread_mutex_lock(&config);
	value = 3;
	pthread_barrier_wait(&begin);
	value++;
	pthread_mutex_unlock(&config);
	return unused;
}

static void *follows(void *unused) {
	rest(10);
	pthread_barrier_wait(&begin);
	pthread_mutex_lock(&config);
	value++;
	pthread_mutex_unlock(&config);
	return unused;
}

int main(void) {
	pthread_barrier_init(&begin, NULL, 2);
	both(leads, follows);
	pthread_barrier_destroy(&begin);
	return value != 5;
}
