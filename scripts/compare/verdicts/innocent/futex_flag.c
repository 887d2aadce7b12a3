// Plain data and opposite lock orders, but an atomic word that the second thread waits on by the futex system call is set after the first half.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int word;

static void *first(void *unused) {
	early();
	rest(15);
	atomic_store(&word, 1);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	return unused;
}

static void *second(void *unused) {
	while (!atomic_load(&word))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
