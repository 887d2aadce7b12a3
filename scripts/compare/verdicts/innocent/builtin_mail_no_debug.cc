// Code without debug information: a letter is handed over by a flag that is a plain int by its type, but accessed by __atomic built-ins with release and acquire alone.
// args: --watch-shared
// build: -g0
#include "turns.h"
#include <thread>

static struct {
	long letter;
	int full;
} box;

int main() {
	long got = 0;
	std::thread writes([] {
		box.letter = 41;
		__atomic_store_n(&box.full, 1, __ATOMIC_RELEASE);
	});
	std::thread reads([&] {
		rest(200);
		while (!__atomic_load_n(&box.full, __ATOMIC_ACQUIRE))
			rest(1);
		got = box.letter;
	});
	writes.join();
	reads.join();
	return got != 41;
}
