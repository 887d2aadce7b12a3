// The halves share plain data and nest mutexes in opposite orders, but a std::latch that the first counts down is awaited before the second.
// watch: data
#include "halves.h"
#include <latch>
#include <thread>

static std::latch ready(2);

int main() {
	std::thread second([] {
		ready.wait();
		late();
	});
	std::thread helper([] { ready.count_down(); });
	rest(10);
	early();
	ready.count_down();
	second.join();
	helper.join();
	return data != 42;
}
