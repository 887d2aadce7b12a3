// Opposite orders by unique_locks that are made with defer_lock and locked one by one later, one of
// them after it was moved.
//
// expect: deadlock reader writer
#include <mutex>
#include <thread>
#include <utility>

#include "fortune.h"

static std::mutex reader, writer;
static int turns;

static void copy_in() {
	std::unique_lock r(reader, std::defer_lock), w(writer, std::defer_lock);
	r.lock();
	std::unique_lock moved = std::move(r);
	chance();
	w.lock();
	turns++;
}

static void copy_out() {
	later(1);
	std::unique_lock r(reader, std::defer_lock), w(writer, std::defer_lock);
	w.lock();
	chance();
	r.lock();
	turns++;
}

int main() {
	std::thread t(copy_in), u(copy_out);
	t.join();
	u.join();
	return turns != 2;
}
