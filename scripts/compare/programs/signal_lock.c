// A signal handler acquires a lock that the interrupted thread may hold. In this run the signal comes when nobody
// does.
//
// expect: deadlock
// expect: misuse
#include "threads.h"
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void count(int by) {
	pthread_mutex_lock(&lock);
	counter += by;
	pthread_mutex_unlock(&lock);
}

static void on_signal(int number) {
	(void)number;
	count(10);
}

static void *work(void *unused) {
	count(1);
	raise(SIGUSR1);
	return unused;
}

int main(void) {
	signal(SIGUSR1, on_signal);
	RUN(work);
	return counter != 11;
}
