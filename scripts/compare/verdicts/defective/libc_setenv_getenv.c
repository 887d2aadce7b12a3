// One thread adds variables to the environment while another looks one up, and getenv takes no lock.
//
// expect: race
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fortune.h"

static void *sets(void *unused) {
	char name[16];
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "ADDED_%d", i);
		setenv(name, "yes", 1);
		chance();
	}
	return unused;
}

static void *looks(void *unused) {
	later(5);
	for (int i = 0; i < 20; i++)
		if (!getenv("PATH"))
			return 0;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, sets, 0);
	pthread_create(&u, 0, looks, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
