// A scoped_lock of two mutexes is safe by itself, but one thread calls it while it holds a third
// lock, for which another thread waits that holds one of the two.
//
// expect: deadlock gate
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex gate, debit, credit;
static int moved, checked;

static void transfer() {
	std::lock_guard outer(gate);
	chance();
	std::scoped_lock both(debit, credit);
	moved++;
}

static void check() {
	later(1);
	std::lock_guard outer(debit);
	chance();
	std::lock_guard inner(gate);
	checked++;
}

int main() {
	std::thread t(transfer), u(check);
	t.join();
	u.join();
	return moved != checked;
}
