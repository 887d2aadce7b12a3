// Opposite orders: each thread copies and drops a shared_ptr in its sections, whose reference count
// is changed by atomic instructions but decides nothing, so both can hold their first lock.
//
// expect: deadlock stock ledger
#include <memory>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex stock, ledger;
static auto settings = std::make_shared<int>(7);
static int sold, refunded;

static void sell(std::shared_ptr<int> mine) {
	std::lock_guard outer(stock);
	std::shared_ptr<int> copy = mine;
	chance();
	std::lock_guard inner(ledger);
	sold += *copy;
}

static void refund(std::shared_ptr<int> mine) {
	later(1);
	std::lock_guard outer(ledger);
	std::shared_ptr<int> copy = mine;
	chance();
	std::lock_guard inner(stock);
	refunded += *copy;
}

int main() {
	std::thread front(sell, settings), back(refund, settings);
	front.join();
	back.join();
	return sold != refunded;
}
