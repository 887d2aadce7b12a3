// Two threads take two locks in opposite orders; the first has ended before the second is made,
// which nothing but time orders.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static volatile pid_t first;

static void *one(void *unused) {
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	first = gettid();
	return unused;
}

static void *two(void *unused) {
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	return unused;
}

int main(void) {
	pthread_t t, s;
	if (pthread_create(&t, NULL, one, NULL))
		return 1;
	while (!first || !kill(first, 0))
		sched_yield();
	if (pthread_create(&s, NULL, two, NULL))
		return 1;
	pthread_join(t, NULL);
	pthread_join(s, NULL);
	return 0;
}
