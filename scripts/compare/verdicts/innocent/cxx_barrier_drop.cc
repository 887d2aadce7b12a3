// The first thread leaves the barrier after its half (arrive_and_drop) and never waits; the second waits for the phase, and then does its own.
// watch: data
#include "halves.h"
#include <barrier>
#include <thread>

static std::barrier phase(2);

int main() {
	std::thread second([] {
		phase.arrive_and_wait();
		late();
		phase.arrive_and_wait();
	});
	std::thread first([] {
		early();
		rest(10);
		phase.arrive_and_drop();
	});
	first.join();
	second.join();
	return data != 42;
}
