// The owner takes from one end of its deque and thieves from the other, mostly under no lock, but only the compare-and-swap on the top gives the last task.
// watch: shared
#include "turns.h"
#include <stdatomic.h>

enum { TASKS = 16 };
static atomic_int tasks[TASKS];
static atomic_long top, bottom;
static long owned, stolen;

static int steal(void) {
	long t = atomic_load(&top), b = atomic_load(&bottom);
	if (t >= b)
		return -1;
	int task = atomic_load(&tasks[t % TASKS]);
	return atomic_compare_exchange_strong(&top, &t, t + 1) ? task : 0;
}

static int take(void) {
	long b = atomic_fetch_sub(&bottom, 1) - 1, t = atomic_load(&top);
	if (t < b)
		return atomic_load(&tasks[b % TASKS]);
	int task = -1;
	if (t == b && atomic_compare_exchange_strong(&top, &t, t + 1))
		task = atomic_load(&tasks[b % TASKS]);
	atomic_store(&bottom, b + 1);
	return task;
}

static void *owns(void *unused) {
	for (int n; (n = take()) >= 0; rest(1))
		owned += n;
	return unused;
}

static void *steals(void *unused) {
	for (int n; (n = steal()) >= 0; rest(1))
		stolen += n;
	return unused;
}

int main(void) {
	for (int i = 0; i < TASKS; i++)
		tasks[i] = i + 1;
	bottom = TASKS;
	both(owns, steals);
	return owned + stolen != TASKS * (TASKS + 1) / 2;
}
