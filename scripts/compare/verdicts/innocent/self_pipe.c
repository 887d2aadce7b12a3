// The event thread reads what another thread wrote under no lock, but it first reads the byte that this thread's signal handler wrote into a pipe, after the data.
// watch: request
#include "turns.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

static int wakeup[2];
static long request;

static void on_usr1(int s) {
	int saved = errno;
	char c = (char)s;
	if (write(wakeup[1], &c, 1) != 1)
		_exit(1);
	errno = saved;
}

static void *asks(void *unused) {
	request = 77;
	raise(SIGUSR1);
	return unused;
}

static void *serves(void *unused) {
	char c;
	while (read(wakeup[0], &c, 1) != 1)
		;
	need(request++ == 77, "request");
	return unused;
}

int main(void) {
	need(!pipe(wakeup), "pipe");
	struct sigaction a = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &a, NULL);
	both(asks, serves);
	return 0;
}
