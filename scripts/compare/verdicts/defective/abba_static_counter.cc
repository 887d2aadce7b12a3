// Opposite orders: a static atomic counter gives out numbers for the log in both threads; which
// number a thread gets decides nothing about its locks.
//
// expect: deadlock accounts journal
#include <atomic>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::atomic<unsigned> next_number;
static std::mutex accounts, journal;
static unsigned lines[4];

static void book() {
	unsigned mine = next_number.fetch_add(1);
	std::lock_guard outer(accounts);
	chance();
	std::lock_guard inner(journal);
	lines[mine % 4] = 1;
	next_number.fetch_add(1);
}

static void audit() {
	later(1);
	unsigned mine = next_number.fetch_add(1);
	std::lock_guard outer(journal);
	chance();
	std::lock_guard inner(accounts);
	lines[mine % 4] = 2;
}

int main() {
	std::thread t(book), u(audit);
	t.join();
	u.join();
}
