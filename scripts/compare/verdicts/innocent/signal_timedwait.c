// The second half looks for the signal with sigtimedwait, again and again, and goes on only when it was sent, which is after the first half.
// watch: data
#include "halves.h"
#include <signal.h>
#include <unistd.h>

static sigset_t set;

static void *first(void *unused) {
	rest(10);
	early();
	sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = 3});
	return unused;
}

static void *second(void *unused) {
	siginfo_t i;
	struct timespec brief = {0, 3000000};
	while (sigtimedwait(&set, &i, &brief) < 0)
		;
	late();
	return unused;
}

int main(void) {
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	both(first, second);
	return data != 42;
}
