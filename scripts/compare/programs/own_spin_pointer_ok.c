// A lock made of an atomic exchange, in a structure on the heap, guards a static counter.
//
// expect: nothing
#include "threads.h"
#include <stdatomic.h>

struct gate {
	int number;
	atomic_int taken;
};

static int counter;

static void *raise(void *argument) {
	struct gate *gate = argument;
	while (atomic_exchange_explicit(&gate->taken, 1, memory_order_acquire))
		;
	counter++;
	atomic_store_explicit(&gate->taken, 0, memory_order_release);
	return argument;
}

static void *raise_later(void *argument) {
	later(1);
	return raise(argument);
}

int main(void) {
	struct gate *gate = calloc(1, sizeof *gate);
	pthread_t first, second;
	if (!gate || pthread_create(&first, NULL, raise, gate) || pthread_create(&second, NULL, raise_later, gate))
		return 1;
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	free(gate);
	return counter != 2;
}
