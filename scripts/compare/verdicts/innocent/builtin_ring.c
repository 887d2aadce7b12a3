// A ring for one producer and one consumer: its head and tail are plain numbers by their type, but are accessed by __atomic built-ins with release and acquire alone.
#include "turns.h"

static struct ring {
	unsigned head, tail;
	long slots[8];
} ring;

static long sum;

static void *produces(void *unused) {
	for (long i = 1; i <= 20; i++) {
		while (ring.tail - __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE) == 8)
			rest(1);
		ring.slots[ring.tail % 8] = i;
		__atomic_store_n(&ring.tail, ring.tail + 1, __ATOMIC_RELEASE);
	}
	return unused;
}

static void *consumes(void *unused) {
	rest(200);
	for (int i = 0; i < 20; i++) {
		while (__atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE) == ring.head)
			rest(1);
		sum += ring.slots[ring.head % 8];
		__atomic_store_n(&ring.head, ring.head + 1, __ATOMIC_RELEASE);
	}
	return unused;
}

int main(void) {
	both(produces, consumes);
	return sum != 210;
}
