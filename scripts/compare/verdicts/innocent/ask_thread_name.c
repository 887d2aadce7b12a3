// The second half waits until the process has another name (prctl by the main thread), which is read from /proc and which the first half gives when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

static pthread_t self_main;

static void *first(void *unused) {
	early();
	pthread_setname_np(self_main, "over");
	return unused;
}

static void *second(void *unused) {
	for (char n[16] = ""; strcmp(n, "over"); rest(1))
		pthread_getname_np(self_main, n, sizeof n);
	late();
	return unused;
}

int main(void) {
	self_main = pthread_self();
	both(first, second);
	return 0;
}
