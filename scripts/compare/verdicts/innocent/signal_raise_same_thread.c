// A handler and the code that it interrupts change one plain variable, but both run in one thread, and raise returns after the handler.
// watch: steps
#include "turns.h"
#include <signal.h>

static volatile int steps;

static void handler(int n) { steps++; }

static void *works(void *unused) {
	for (int i = 0; i < 5; i++) {
		steps++;
		raise(SIGUSR1);
	}
	return unused;
}

int main(void) {
	signal(SIGUSR1, handler);
	pthread_join(start(works, NULL), NULL);
	return steps != 10;
}
