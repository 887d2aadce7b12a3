// Accounts, and transfers between them: what the tests of this example test.
#pragma once

#include <mutex>

class Account {
public:
	explicit Account(long balance) : balance_(balance) {}

	long balance() const {
		std::lock_guard lock(mutex_);
		return balance_;
	}

	// Locks both accounts, each transfer in its own order: two that go opposite ways can block each other for ever.
	static void transfer(Account &from, Account &to, long amount) {
		std::lock_guard first(from.mutex_);
		std::lock_guard second(to.mutex_);
		from.balance_ -= amount;
		to.balance_ += amount;
	}

	// Locks both at once, as std::scoped_lock does without a deadlock.
	static void transfer_safely(Account &from, Account &to, long amount) {
		std::scoped_lock both(from.mutex_, to.mutex_);
		from.balance_ -= amount;
		to.balance_ += amount;
	}

private:
	mutable std::mutex mutex_;
	long balance_;
};
