// A transfer between accounts locks its source, and tries the other account until it has it, in the belief that a try cannot
// deadlock. Two transfers in opposite directions then try for ever.
//
// expect: deadlock
#include <mutex>
#include <thread>

#include "fortune.h"

struct account {
	std::mutex lock;
	long balance = 100;
};

static void transfer(account &from, account &to, long amount) {
	std::lock_guard source(from.lock);
	chance();
	while (!to.lock.try_lock())
		std::this_thread::yield();
	from.balance -= amount;
	to.balance += amount;
	to.lock.unlock();
}

int main() {
	auto *a = new account, *b = new account;
	std::thread first([a, b] { transfer(*a, *b, 10); });
	std::thread second([a, b] {
		later(1);
		transfer(*b, *a, 20);
	});
	first.join();
	second.join();
	return a->balance + b->balance != 200;
}
