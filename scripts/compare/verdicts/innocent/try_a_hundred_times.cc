// A transfer between accounts locks its source, tries the other account a hundred times, and gives up then: two transfers in
// opposite directions end, though neither may have been made.
#include <chrono>
#include <mutex>
#include <thread>

struct account {
	std::mutex lock;
	long balance = 100;
};

static bool transfer(account &from, account &to, long amount) {
	std::lock_guard source(from.lock);
	for (int i = 0; i < 100; i++) {
		if (to.lock.try_lock()) {
			from.balance -= amount;
			to.balance += amount;
			to.lock.unlock();
			return true;
		}
		std::this_thread::yield();
	}
	return false;
}

int main() {
	auto *a = new account, *b = new account;
	std::thread first([a, b] { transfer(*a, *b, 10); });
	std::thread second([a, b] {
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
		transfer(*b, *a, 20);
	});
	first.join();
	second.join();
	return a->balance + b->balance != 200;
}
