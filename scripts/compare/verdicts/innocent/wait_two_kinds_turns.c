// A producer and a consumer wait on one condition for different things and are told by a signal, but only one of them can wait at a time.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items;

static void *puts_in(void *unused) {
	for (int i = 0; i < 6; i++) {
		pthread_mutex_lock(&lock);
		while (items == 1)
			pthread_cond_wait(&changed, &lock);
		items++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *takes_out(void *unused) {
	for (int i = 0; i < 6; i++) {
		pthread_mutex_lock(&lock);
		while (items == 0)
			pthread_cond_wait(&changed, &lock);
		items--;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void) {
	both(takes_out, puts_in);
	return items;
}
