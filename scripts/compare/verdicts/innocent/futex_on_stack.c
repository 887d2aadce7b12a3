// The word that orders the halves lies on main's stack and is reached by a pointer; futex waits and wakes on it.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *first(void *p) {
	_Atomic int *word = p;
	early();
	rest(15);
	atomic_store_explicit(word, 1, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return NULL;
}

static void *second(void *p) {
	_Atomic int *word = p;
	while (!atomic_load_explicit(word, memory_order_acquire))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	late();
	return NULL;
}

int main(void) {
	_Atomic int word = 0;
	pthread_t s = start(first, &word), t = start(second, &word);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return data != 42;
}
