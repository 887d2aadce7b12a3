// The signal is sent when the mutex has been released already, but what it tells was set under the mutex, so that the waiting thread either has seen it or sleeps.
// watch: ready, value
#include "turns.h"
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex guard;
static std::condition_variable told;
static bool ready;
static long value;

static void waits() {
	std::unique_lock<std::mutex> l(guard);
	told.wait(l, [] { return ready; });
	value++;
	ready = false;
	l.unlock();
	told.notify_one();
}

int main() {
	std::thread t(waits);
	for (int round = 0; round < 1; round++) {
		rest(5);
		{
			std::lock_guard<std::mutex> l(guard);
			value = 10;
			ready = true;
		}
		told.notify_one();
		std::unique_lock<std::mutex> l(guard);
		told.wait(l, [] { return !ready; });
	}
	t.join();
	return value != 11;
}
