// A parcel is handed over by a condition, but the sender writes on it once more after the signal,
// when the receiver may have it already.
//
// expect: race label
// watch: label, sent
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int sent, label;

static void *send(void *unused) {
	label = 1;
	pthread_mutex_lock(&lock);
	sent = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	label = 2;
	return unused;
}

static void *receive(void *unused) {
	(void)unused;
	pthread_mutex_lock(&lock);
	while (!sent)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	later(1);
	return (void *)(long)label;
}

int main(void) {
	pthread_t t, u;
	void *got;
	pthread_create(&u, 0, receive, 0);
	later(1);
	pthread_create(&t, 0, send, 0);
	pthread_join(t, 0);
	pthread_join(u, &got);
	return !got;
}
