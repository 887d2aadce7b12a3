// The thread is never waited for: pthread_tryjoin_np asks again and again, and when it says yes the thread of the first half is joined.
// watch: data
#define _GNU_SOURCE
#include "halves.h"

static void *first(void *unused) {
	rest(10);
	early();
	return unused;
}

int main(void) {
	pthread_t t = start(first, NULL);
	while (pthread_tryjoin_np(t, NULL))
		rest(2);
	late();
	return data != 42;
}
