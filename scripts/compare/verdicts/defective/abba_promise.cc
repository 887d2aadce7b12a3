// Opposite orders: each thread fulfils a promise of its own in its inner section, and only main
// waits for the two futures, so the promises order neither thread after the other.
//
// expect: deadlock left right
#include <future>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex left, right;

static void forth(std::promise<int> done) {
	std::lock_guard outer(left);
	chance();
	std::lock_guard inner(right);
	done.set_value(1);
}

static void back(std::promise<int> done) {
	later(1);
	std::lock_guard outer(right);
	chance();
	std::lock_guard inner(left);
	done.set_value(2);
}

int main() {
	std::promise<int> one, two;
	std::future<int> first = one.get_future(), second = two.get_future();
	std::thread t(forth, std::move(one)), u(back, std::move(two));
	int sum = first.get() + second.get();
	t.join();
	u.join();
	return sum != 3;
}
