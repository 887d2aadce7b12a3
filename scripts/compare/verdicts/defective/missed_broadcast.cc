// Two threads wait for a start signal without a predicate: whichever comes after the broadcast
// sleeps for ever.
//
// expect: deadlock
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex lock;
static std::condition_variable go;

static void runner() {
	chance();
	std::unique_lock held(lock);
	go.wait(held);
}

int main() {
	std::thread t(runner), u(runner);
	later(1);
	{
		std::lock_guard held(lock);
		go.notify_all();
	}
	t.join();
	u.join();
}
