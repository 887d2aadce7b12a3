// O_ASYNC sends SIGIO when the pipe gets its first byte, which is after the first half; the second waits for that signal and never reads the pipe.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static sigset_t set;

static void *second(void *unused) {
	int n;
	sigwait(&set, &n);
	late();
	return unused;
}

int main(void) {
	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	int p[2];
	need(!pipe(p), "pipe");
	fcntl(p[0], F_SETOWN, getpid());
	fcntl(p[0], F_SETFL, O_ASYNC);
	pthread_t t = start(second, NULL);
	rest(10);
	early();
	need(write(p[1], "x", 1) == 1, "write");
	pthread_join(t, NULL);
	return data != 42;
}
