// One thread has blocked the signal and waits for it by sigwait; it takes the lock as any other.
//
// expect: nothing
#include "threads.h"
#include <signal.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static sigset_t wanted;

static void count(int by) {
	pthread_mutex_lock(&lock);
	counter += by;
	pthread_mutex_unlock(&lock);
}

static void *serve(void *unused) {
	int number;
	if (!sigwait(&wanted, &number))
		count(10);
	return unused;
}

static void *work(void *unused) {
	later(1);
	count(1);
	kill(getpid(), SIGUSR1);
	return unused;
}

int main(void) {
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &wanted, NULL);
	RUN(serve, work);
	return counter != 11;
}
