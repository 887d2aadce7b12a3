// std::call_once within a lock, and the initialiser wants that lock: a thread that holds the lock
// waits for the other's initialiser to end, which waits for the lock. In the run the initialiser
// was over before. The mutex is recursive so that each thread alone would succeed.
//
// expect: deadlock
#include <mutex>
#include <thread>

#include "fortune.h"

static std::recursive_mutex lock;
static std::once_flag once;
static int table, uses;

static void initialise() {
	chance();
	std::lock_guard held(lock);
	table = 42;
}

static void outside() {
	std::call_once(once, initialise);
}

static void within() {
	later(1);
	std::lock_guard held(lock);
	chance();
	std::call_once(once, initialise);
	uses++;
}

int main() {
	std::thread t(outside), u(within);
	t.join();
	u.join();
	return table != 42;
}
