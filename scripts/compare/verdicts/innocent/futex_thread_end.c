// A detached thread does the first half, and nobody joins it: the second half waits until the kernel clears the thread's word (CLONE_CHILD_CLEARTID) at its end.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int alive = 1;

static void *first(void *unused) {
	syscall(SYS_set_tid_address, &alive);
	rest(10);
	early();
	return unused;
}

int main(void) {
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_t t;
	need(!pthread_create(&t, &attr, first, NULL), "pthread_create");
	pthread_attr_destroy(&attr);
	while (atomic_load(&alive))
		syscall(SYS_futex, &alive, FUTEX_WAIT, 1, NULL, NULL, 0);
	late();
	return data != 42;
}
