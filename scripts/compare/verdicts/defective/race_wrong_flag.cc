// Two stages publish by an atomic flag each, and the reader of the second stage's result waits for
// the first one's flag.
//
// expect: race second
// watch: first, second
#include <atomic>
#include <thread>

#include "fortune.h"

static std::atomic<int> first_done, second_done;
static int first, second;

int main() {
	int sum = 0;
	std::thread t([] {
		first = 1;
		first_done.store(1);
		second = 2;
		second_done.store(1);
	});
	std::thread u([&] {
		while (!first_done.load())
			std::this_thread::yield();
		later(1);
		sum = first + second;
	});
	t.join();
	u.join();
	return sum == 0 || second_done.load() != 1;
}
