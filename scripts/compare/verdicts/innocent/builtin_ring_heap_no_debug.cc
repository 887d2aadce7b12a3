// Code without debug information: a ring of allocated memory whose head and tail are accessed by __atomic built-ins with release and acquire alone, for one producer and one consumer.
// args: --watch-shared
// build: -g0
#include "turns.h"
#include <thread>

struct Ring {
	unsigned head = 0, tail = 0;
	long slots[2] = {};
};

int main() {
	auto *ring = new Ring;
	long sum = 0;
	std::thread produces([=] {
		for (long i = 1; i <= 6; i++) {
			while (ring->tail - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == 2)
				rest(1);
			ring->slots[ring->tail % 2] = i;
			__atomic_store_n(&ring->tail, ring->tail + 1, __ATOMIC_RELEASE);
		}
	});
	std::thread consumes([=, &sum] {
		rest(200);
		for (int i = 0; i < 6; i++) {
			while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == ring->head)
				rest(1);
			sum += ring->slots[ring->head % 2];
			__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
		}
	});
	produces.join();
	consumes.join();
	delete ring;
	return sum != 21;
}
