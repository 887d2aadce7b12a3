// Two accounts on the heap, and each transfer locks the one from which it takes first: two
// transfers in opposite directions at the same time block each other.
//
// expect: deadlock
#include <memory>
#include <mutex>
#include <thread>

#include "fortune.h"

class Account {
	std::mutex lock_;
	long balance_;

public:
	explicit Account(long balance) : balance_(balance) {}
	void transfer(Account &to, long amount) {
		std::lock_guard mine(lock_);
		chance();
		std::lock_guard theirs(to.lock_);
		balance_ -= amount;
		to.balance_ += amount;
	}
	long balance() {
		std::lock_guard mine(lock_);
		return balance_;
	}
};

int main() {
	auto rent = std::make_unique<Account>(100), food = std::make_unique<Account>(50);
	std::thread t([&] { rent->transfer(*food, 20); });
	std::thread u([&] {
		later(1);
		food->transfer(*rent, 5);
	});
	t.join();
	u.join();
	return rent->balance() + food->balance() != 150;
}
