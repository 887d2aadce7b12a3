// Opposite orders, and the second thread looks at an atomic counter that the first has increased, but
// only to print it: it would have done the same had it read nothing.
//
// expect: deadlock outbox inbox
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::atomic<int> sent;
static std::mutex outbox, inbox;

int main() {
	std::thread t([] {
		std::lock_guard outer(outbox);
		chance();
		std::lock_guard inner(inbox);
		sent.fetch_add(1);
	});
	std::thread u([] {
		later(1);
		std::printf("%d sent\n", sent.load());
		std::lock_guard outer(inbox);
		chance();
		std::lock_guard inner(outbox);
	});
	t.join();
	u.join();
}
