// The innocent twin of bank: clerk and auditor take the locks in the same order.
#include <chrono>
#include <iostream>
#include <mutex>
#include <thread>

std::mutex accounts, audit;
static long balance = 1000, transfers;

// Both locks at once: std::scoped_lock tries, and backs off where it would
// wait for one while holding the other. The order of its arguments is free.
[[gnu::noinline]] static void transfer(long amount) {
	std::scoped_lock both(audit, accounts);
	balance -= amount;
	transfers++;
}

[[gnu::noinline]] static void withdraw(long amount) {
	std::lock_guard<std::mutex> first(accounts);
	balance -= amount;
	std::lock_guard<std::mutex> second(audit);
	transfers++;
}

[[gnu::noinline]] static long report() {
	std::lock_guard<std::mutex> first(accounts);
	std::lock_guard<std::mutex> second(audit);
	return transfers + balance;
}

int main() {
	using namespace std::chrono_literals;
	long sum = 0;
	std::thread clerk([] {
		for (int i = 0; i < 10; i++) {
			transfer(5);
			withdraw(10);
		}
		std::this_thread::sleep_for(300ms);
	});
	std::thread auditor([&sum] {
		std::this_thread::sleep_for(150ms);
		for (int i = 0; i < 3; i++)
			sum = report();
	});
	clerk.join();
	auditor.join();
	std::cout << "balance " << balance << ", sum " << sum << std::endl;
}
