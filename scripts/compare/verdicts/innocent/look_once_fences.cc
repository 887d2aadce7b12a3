// The store and the load of the flag on the heap are relaxed: a fence before the store and one after the load order the
// halves.
// watch: data
#include "halves.h"
#include <atomic>
#include <thread>

struct Gate {
	std::atomic<int> open{0};
};

int main() {
	auto gate = new Gate;
	std::thread a([gate] {
		early();
		std::atomic_thread_fence(std::memory_order_release);
		gate->open.store(1, std::memory_order_relaxed);
	});
	std::thread b([gate] {
		rest(20);
		if (gate->open.load(std::memory_order_relaxed)) {
			std::atomic_thread_fence(std::memory_order_acquire);
			late();
		}
	});
	a.join();
	b.join();
	delete gate;
}
