// The atomic flag that orders the halves lies on the stack of main, which stores it by its own stack pointer; the second
// thread has a reference.
// watch: data
#include "halves.h"
#include <atomic>
#include <thread>

int main() {
	std::atomic<bool> ready{false};
	long turns = 0;
	std::thread worker([&] {
		for (;;) {
			turns++;
			rest(1);
			if (ready.load(std::memory_order_acquire)) {
				late();
				break;
			}
		}
	});
	rest(4);
	early();
	ready.store(true, std::memory_order_release);
	worker.join();
	return data != 42;
}
