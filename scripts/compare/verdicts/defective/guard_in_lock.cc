// The constructor of a static local object locks what a caller holds: while one thread constructs
// it and wants the lock, the other holds the lock and waits for the construction to end. In the run
// it had ended before. The mutex is recursive so that each thread alone would succeed.
//
// expect: deadlock
#include <mutex>
#include <thread>

#include "fortune.h"

static std::recursive_mutex registry;
static int registered;

struct Plugin {
	int number;
	Plugin() {
		chance();
		std::lock_guard held(registry);
		number = ++registered;
	}
};

static Plugin &plugin() {
	static Plugin only;
	return only;
}

static void use() {
	plugin();
}

static void enumerate() {
	later(1);
	std::lock_guard held(registry);
	chance();
	registered += plugin().number;
}

int main() {
	std::thread t(use), u(enumerate);
	t.join();
	u.join();
	return registered == 0;
}
