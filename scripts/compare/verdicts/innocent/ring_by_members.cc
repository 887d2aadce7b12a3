// A queue of one producer and one consumer: the slots are static, head and tail are atomic members of an allocated object,
// and neither thread accesses a slot that the other may access.
// watch: shared
#include <atomic>
#include <memory>
#include <thread>

struct Ring {
	alignas(64) std::atomic<unsigned> head{0};
	alignas(64) std::atomic<unsigned> tail{0};
};

static int slots[8];
static long sum;

int main() {
	auto ring = std::make_unique<Ring>();
	std::thread producer([&] {
		for (int i = 0; i < 50; i++) {
			unsigned head = ring->head.load(std::memory_order_relaxed);
			while (head - ring->tail.load(std::memory_order_acquire) == 8)
				std::this_thread::yield();
			slots[head % 8] = i;
			ring->head.store(head + 1, std::memory_order_release);
		}
	});
	std::thread consumer([&] {
		for (int i = 0; i < 50; i++) {
			unsigned tail = ring->tail.load(std::memory_order_relaxed);
			while (tail == ring->head.load(std::memory_order_acquire))
				std::this_thread::yield();
			sum += slots[tail % 8];
			ring->tail.store(tail + 1, std::memory_order_release);
		}
	});
	producer.join();
	consumer.join();
	return sum != 1225;
}
