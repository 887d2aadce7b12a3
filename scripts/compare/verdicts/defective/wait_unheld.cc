// A unique_lock adopts a mutex that its thread has not locked, and waits on a condition with it.
//
// expect: misuse lock
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex lock;
static std::condition_variable changed;

int main() {
	std::thread t([] {
		std::unique_lock held(lock, std::adopt_lock);
		changed.wait_for(held, std::chrono::milliseconds(50));
	});
	t.join();
}
