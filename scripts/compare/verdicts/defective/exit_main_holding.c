// main returns, and so ends the process, while it holds the lock of a registry: on one path it does
// not unlock it, and whoever still runs then and wants the lock keeps waiting.
//
// expect: misuse registry
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static int entries;

static void *enter(void *unused) {
	pthread_mutex_lock(&registry);
	entries++;
	pthread_mutex_unlock(&registry);
	return unused;
}

static int show(void) {
	pthread_mutex_lock(&registry);
	if (entries < 2)
		return printf("%d\n", entries) < 0;
	pthread_mutex_unlock(&registry);
	return 0;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, enter, 0);
	pthread_join(t, 0);
	return show();
}
