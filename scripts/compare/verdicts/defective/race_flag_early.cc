// An atomic flag says that the answer is there, but is set before the answer is written; the reader
// waits for the flag and was only slow to read.
//
// expect: race answer
// watch: answer
#include <atomic>
#include <thread>

#include "fortune.h"

static std::atomic<bool> ready;
static int answer;

int main() {
	int got = 0;
	std::thread t([] {
		chance();
		ready.store(true, std::memory_order_release);
		answer = 42;
	});
	std::thread u([&] {
		while (!ready.load(std::memory_order_acquire))
			std::this_thread::yield();
		later(1);
		got = answer;
	});
	t.join();
	u.join();
	return got == 43;
}
