// A thread is detached, and then joined.
//
// expect: misuse
#include "threads.h"

static void *worker(void *unused) {
	later(2);
	return unused;
}

int main(void) {
	pthread_t thread;
	if (pthread_create(&thread, NULL, worker, NULL))
		return 1;
	pthread_detach(thread);
	pthread_join(thread, NULL);
	later(3);
	puts("done");
	return 0;
}
