// A result and the locks' order have nothing but a polled number between them, but the number is atomic, is stored after the result (release) and loaded before it is used (acquire).
// watch: result.sum, result.count
// build: -O2
#include "turns.h"
#include <stdatomic.h>
#include <unistd.h>

static atomic_uint progress;
static struct { long sum, count; } result;
static pthread_mutex_t in = PTHREAD_MUTEX_INITIALIZER, out = PTHREAD_MUTEX_INITIALIZER;

static void *computes(void *unused) {
	for (unsigned i = 1; i <= 10; i++) {
		result.sum += i;
		result.count++;
		if (i == 5)
			nest(&in, &out);
		rest(1);
		atomic_store_explicit(&progress, 10 * i, memory_order_release);
	}
	return unused;
}

static void *reports(void *unused) {
	unsigned pause = 10, p;
	while ((p = atomic_load_explicit(&progress, memory_order_acquire)) < 100) {
		usleep(pause);
		pause = pause < 2000 ? 2 * pause : pause;
	}
	nest(&out, &in);
	result.sum *= 2;
	need(result.sum == 110 && result.count == 10, "result");
	return unused;
}

int main(void) {
	both(computes, reports);
	return 0;
}
