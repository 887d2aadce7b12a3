// Readers mark that they are inside without a fence; the writer closes the gate, calls membarrier, and waits until nobody is inside before it changes the table.
#define _GNU_SOURCE
#include "turns.h"
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int inside, closed;
static long table = 3, seen;

static void *reads(void *unused) {
	for (int i = 0; i < 5; i++) {
		atomic_store_explicit(&inside, 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		if (!atomic_load_explicit(&closed, memory_order_acquire))
			seen += table;
		atomic_store_explicit(&inside, 0, memory_order_release);
		rest(10);
	}
	return unused;
}

static void *writes(void *unused) {
	rest(200);
	atomic_store_explicit(&closed, 1, memory_order_relaxed);
	need(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), "membarrier");
	while (atomic_load_explicit(&inside, memory_order_acquire))
		rest(1);
	table = 5;
	return unused;
}

int main(void) {
	need(!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0), "membarrier");
	both(reads, writes);
	return seen > 15;
}
