// The handler reads in another thread what main wrote under no lock, but main wrote it before pthread_kill, and nothing else sends the signal.
// watch: parcel, seen
#include "turns.h"
#include <signal.h>
#include <unistd.h>

static int parcel, seen;
static volatile sig_atomic_t came;

static void handler(int n) {
	seen = parcel;
	came = 1;
}

static void *works(void *unused) {
	while (!came)
		usleep(1000);
	return seen == 7 ? unused : NULL;
}

int main(void) {
	signal(SIGUSR1, handler);
	pthread_t t = start(works, NULL);
	rest(20);
	parcel = 7;
	pthread_kill(t, SIGUSR1);
	pthread_join(t, NULL);
	return seen != 7;
}
