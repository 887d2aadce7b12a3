// Opposite orders: an atomic counter on main's stack is increased by both threads before they lock
// anything; neither looks at its value.
//
// expect: deadlock north south
#include <atomic>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex north, south;

int main() {
	std::atomic<int> begun{0};
	std::thread down([&] {
		begun++;
		std::lock_guard outer(north);
		chance();
		std::lock_guard inner(south);
	});
	std::thread up([&] {
		begun++;
		later(1);
		std::lock_guard outer(south);
		chance();
		std::lock_guard inner(north);
	});
	down.join();
	up.join();
	return begun != 2;
}
