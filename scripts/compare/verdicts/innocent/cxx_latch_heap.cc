// A latch is on the heap and reached by a reference; arrive_and_wait, try_wait in a loop and count_down order the halves.
// watch: data
#include "halves.h"
#include <latch>
#include <memory>
#include <thread>

int main() {
	auto ready = std::make_unique<std::latch>(1);
	std::thread second([&l = *ready] {
		while (!l.try_wait())
			rest(1);
		late();
	});
	early();
	rest(10);
	ready->count_down();
	second.join();
	return data != 42;
}
