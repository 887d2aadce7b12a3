// A thread ends and is neither joined nor detached: what it leaves is never freed.
//
// expect: misuse
#include "threads.h"

static void *worker(void *unused) { return unused; }

int main(void) {
	pthread_t thread;
	if (pthread_create(&thread, NULL, worker, NULL))
		return 1;
	later(1);
	puts("done");
	return 0;
}
