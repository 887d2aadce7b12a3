// A thread waits for a condition with an outer mutex held that also the notifier takes, but the notifier takes it only after its signal, without the inner one.
#include "turns.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waits(void *unused) {
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	while (!ready)
		pthread_cond_wait(&changed, &inner);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	return unused;
}

static void *notifies(void *unused) {
	rest(15);
	pthread_mutex_lock(&inner);
	ready = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&inner);
	pthread_mutex_lock(&outer);
	pthread_mutex_unlock(&outer);
	return unused;
}

int main(void) {
	both(waits, notifies);
	return 0;
}
