// A ring of allocated memory whose head and tail are accessed by __atomic built-ins: the consumer moves the head on before
// it has read the slot, which the producer may fill then.
//
// expect: race slots
#include <thread>

#include "fortune.h"

struct Ring {
	unsigned head = 0, tail = 0;
	long slots[2] = {};
};

int main() {
	auto *ring = new Ring;
	long sum = 0;
	std::thread produces([=] {
		for (long i = 1; i <= 4; i++) {
			while (ring->tail - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == 2)
				nanoseconds(1000000);
			ring->slots[ring->tail % 2] = i;
			__atomic_store_n(&ring->tail, ring->tail + 1, __ATOMIC_RELEASE);
		}
	});
	std::thread consumes([=, &sum] {
		later(5);
		for (int i = 0; i < 4; i++) {
			while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == ring->head)
				nanoseconds(1000000);
			unsigned at = ring->head;
			__atomic_store_n(&ring->head, at + 1, __ATOMIC_RELEASE);
			chance();
			sum += ring->slots[at % 2];
		}
	});
	produces.join();
	consumes.join();
	delete ring;
	return sum > 16;
}
