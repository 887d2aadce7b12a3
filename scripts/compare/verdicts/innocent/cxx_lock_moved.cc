// The mutex is locked in one function and unlocked in another object's destructor, but the unique_lock was moved there, and stays in its thread.
// watch: total
#include "turns.h"
#include <mutex>
#include <optional>
#include <thread>

static std::mutex lock;
static long total;

struct Transaction {
	std::unique_lock<std::mutex> held;
	void add() { total++; }
};

static Transaction begin() {
	std::unique_lock<std::mutex> l(lock);
	return Transaction{std::move(l)};
}

int main() {
	auto adds = [] {
		for (int i = 0; i < 4; i++) {
			std::optional<Transaction> t(begin());
			t->add();
			t.reset();
			rest(2);
		}
	};
	std::thread a(adds), b(adds);
	a.join();
	b.join();
	return total != 8;
}
