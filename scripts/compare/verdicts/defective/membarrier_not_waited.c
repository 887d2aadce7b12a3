// The writer closes the gate and calls membarrier, which is no wait for the reader inside, and changes the table.
//
// expect: race table
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fortune.h"

static atomic_int closed;
static long table = 3, seen;

static void *reads(void *unused) {
	for (int i = 0; i < 5; i++) {
		if (!atomic_load_explicit(&closed, memory_order_acquire)) {
			chance();
			seen += table;
		}
		nanoseconds(10000000);
	}
	return unused;
}

static void *writes(void *unused) {
	later(5);
	atomic_store_explicit(&closed, 1, memory_order_relaxed);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	table = 5;
	return unused;
}

int main(void) {
	pthread_t t, u;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	pthread_create(&t, 0, reads, 0);
	pthread_create(&u, 0, writes, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return seen > 25;
}
