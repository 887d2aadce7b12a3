// main tells a thread by a signal that the settings have changed, and changes them after that; the
// thread, which waits for the signal, may read them at the same time.
//
// expect: race settings
// watch: settings
#include <pthread.h>
#include <signal.h>

#include "fortune.h"

static int settings = 1;
static sigset_t hup;

static void *reload(void *unused) {
	int which;
	(void)unused;
	sigwait(&hup, &which);
	later(1);
	return (void *)(long)settings;
}

int main(void) {
	pthread_t t;
	void *got;
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &hup, 0);
	pthread_create(&t, 0, reload, 0);
	pthread_kill(t, SIGHUP);
	settings = 2;
	pthread_join(t, &got);
	return !got;
}
