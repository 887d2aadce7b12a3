// Opposite orders in two packaged tasks whose results main takes in the order in which they were
// begun; the first result is not needed for the second.
//
// expect: deadlock source target
#include <future>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex source, target;

static int pull() {
	std::lock_guard outer(source);
	chance();
	std::lock_guard inner(target);
	return 1;
}

static int push() {
	later(1);
	std::lock_guard outer(target);
	chance();
	std::lock_guard inner(source);
	return 2;
}

int main() {
	std::packaged_task<int()> one(pull), two(push);
	std::future<int> first = one.get_future(), second = two.get_future();
	std::jthread t(std::move(one)), u(std::move(two));
	return first.get() + second.get() != 3;
}
