// Opposite orders of a shared_mutex and a mutex: one thread holds the shared_mutex only for
// reading, but the other wants it for writing, so reading is enough to keep it out.
//
// expect: deadlock table log_lock
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "fortune.h"

static std::shared_mutex table;
static std::mutex log_lock;
static int rows = 3, lines;

static void look_up() {
	std::shared_lock read(table);
	int seen = rows;
	chance();
	std::lock_guard inner(log_lock);
	lines += seen;
}

static void compact() {
	later(1);
	std::lock_guard outer(log_lock);
	lines = 0;
	chance();
	std::unique_lock write(table);
	rows--;
}

int main() {
	std::thread t(look_up), u(compact);
	t.join();
	u.join();
	return rows != 2;
}
