// A mutex is initialised again, by a reset, while another thread holds it: its section is open to
// all from then on.
//
// expect: misuse lock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock;
static int level;

static void *fill(void *unused) {
	pthread_mutex_lock(&lock);
	later(2);
	level++;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *reset(void *unused) {
	later(1);
	pthread_mutex_init(&lock, 0);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_mutex_init(&lock, 0);
	pthread_create(&t, 0, fill, 0);
	pthread_create(&u, 0, reset, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return level != 1;
}
