// The second half waits until an atomic double has the value that the first stores when it is over, and which it compares exactly; sleeps in between grow.
// watch: data
// build: -O2
#include "halves.h"
#include <atomic>
#include <chrono>
#include <thread>

static std::atomic<double> level{0.0};
static std::atomic<const char *> word{"no"};

int main() {
	std::thread t([] {
		early();
		level.store(level.load() + 0.5, std::memory_order_release);
	}), u([] {
		for (int us = 10; level.load(std::memory_order_acquire) != 0.5; us *= 2)
			std::this_thread::sleep_for(std::chrono::microseconds(us));
		late();
	});
	t.join();
	u.join();
	return 0;
}
