// A unique_lock is released by mistake, not unlocked, before its thread ends: the mutex stays
// locked, and the thread that locked it before in the run would wait for ever if it came after.
//
// expect: misuse buffer
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex buffer;
static int written;

int main() {
	std::thread t([] {
		chance();
		std::lock_guard held(buffer);
		written++;
	});
	std::thread u([] {
		later(1);
		std::unique_lock held(buffer);
		written++;
		held.release();
	});
	t.join();
	u.join();
	return written != 2;
}
