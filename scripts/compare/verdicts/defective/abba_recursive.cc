// Opposite orders of two recursive mutexes, each of which its owner locks once more, by a method
// that calls another: what is locked again is harmless, the orders are not.
//
// expect: deadlock
#include <mutex>
#include <thread>

#include "fortune.h"

struct Part {
	std::recursive_mutex lock;
	Part *other = nullptr;
	int value = 0;
	void set(int v) {
		std::lock_guard held(lock);
		value = v;
	}
	void push() {
		std::lock_guard held(lock);
		set(value + 1);
		chance();
		other->set(value);
	}
};

static Part first, second;

int main() {
	first.other = &second;
	second.other = &first;
	std::thread t([] { first.push(); });
	std::thread u([] {
		later(1);
		second.push();
	});
	t.join();
	u.join();
	return first.value != 2;
}
