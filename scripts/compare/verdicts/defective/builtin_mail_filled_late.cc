// Code without debug information: the flag of a letter box, accessed by __atomic built-ins, is set before the letter is
// written.
//
// expect: race letter
// args: --watch-shared
// build: -g0
#include <thread>

#include "fortune.h"

static long letter;
static int full;

int main() {
	long got = 0;
	std::thread writes([] {
		__atomic_store_n(&full, 1, __ATOMIC_RELEASE);
		chance();
		letter = 41;
	});
	std::thread reads([&] {
		later(5);
		while (!__atomic_load_n(&full, __ATOMIC_ACQUIRE))
			nanoseconds(1000000);
		got = letter;
	});
	writes.join();
	reads.join();
	return got != 41 && got != 0;
}
