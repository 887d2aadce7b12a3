// main cancels a thread and then writes why, while the thread's cleanup handler may read it: the
// request orders only what came before it.
//
// expect: race reason
// watch: reason
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static int reason, told;

static void clean(void *unused) {
	(void)unused;
	later(1);
	told = reason;
}

static void *work(void *unused) {
	pthread_cleanup_push(clean, 0);
	pause();
	pthread_cleanup_pop(0);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	later(1);
	pthread_cancel(t);
	reason = 3;
	pthread_join(t, 0);
	return told == 4;
}
