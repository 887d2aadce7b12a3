// A ring whose head and tail are accessed by __atomic built-ins, made for one producer, gets two: both can put their item
// into the same slot.
//
// expect: race slots
// expect: race ring.tail
#include <pthread.h>

#include "fortune.h"

static struct ring {
	unsigned tail;
	long slots[16];
} ring;

static void *produces(void *first) {
	later(5 * (int)(long)first);
	for (long i = 0; i < 4; i++) {
		unsigned at = __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE);
		chance();
		ring.slots[at % 16] = (long)first + i;
		__atomic_store_n(&ring.tail, at + 1, __ATOMIC_RELEASE);
	}
	return 0;
}

int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, produces, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return ring.tail > 8;
}
