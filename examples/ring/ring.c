// A queue without locks: one thread puts parcels into a ring, another takes them
// out. Each moves one end, which is atomic; the slots are plain memory, which the
// ends hand over (ring.slots[0] and ring.slots[3] are watched). Who is done counts
// that beside the ring, where nothing orders it.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { SLOTS = 4, PARCELS = 100 };

static struct {
	_Atomic unsigned head; // taken from here
	_Atomic unsigned tail; // put here
	long slots[SLOTS];
} ring;

static int done;

static void put(long parcel) {
	unsigned at = atomic_load_explicit(&ring.tail, memory_order_relaxed);
	while (at - atomic_load_explicit(&ring.head, memory_order_acquire) == SLOTS)
		sched_yield();
	ring.slots[at % SLOTS] = parcel;
	atomic_store_explicit(&ring.tail, at + 1, memory_order_release);
}

static long get(void) {
	unsigned at = atomic_load_explicit(&ring.head, memory_order_relaxed);
	while (atomic_load_explicit(&ring.tail, memory_order_acquire) == at)
		sched_yield();
	long parcel = ring.slots[at % SLOTS];
	atomic_store_explicit(&ring.head, at + 1, memory_order_release);
	return parcel;
}

__attribute__((noinline)) static void sign_off(void) { done++; }

static void *produce(void *unused) {
	for (long i = 1; i <= PARCELS; i++)
		put(i);
	sign_off();
	return unused;
}

static void *consume(void *sum) {
	for (int i = 0; i < PARCELS; i++)
		*(long *)sum += get();
	sign_off();
	return sum;
}

int main(void) {
	pthread_t producer, consumer;
	long sum = 0;
	if (pthread_create(&producer, NULL, produce, NULL) || pthread_create(&consumer, NULL, consume, &sum))
		return 1;
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	printf("sum %ld\n", sum);
	return done < 1 || done > 2;
}
