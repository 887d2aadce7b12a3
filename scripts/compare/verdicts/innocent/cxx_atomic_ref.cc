// The flag is a plain int, but both threads touch it only through std::atomic_ref while they share it.
// watch: data
#include "halves.h"
#include <atomic>
#include <thread>

int main() {
	int ready = 0;
	std::thread second([&] {
		while (!std::atomic_ref<int>(ready).load(std::memory_order_acquire))
			rest(1);
		late();
	});
	early();
	rest(10);
	std::atomic_ref<int>(ready).store(1, std::memory_order_release);
	second.join();
	return data != 42;
}
