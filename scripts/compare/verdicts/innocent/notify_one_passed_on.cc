// Two kinds of waiters share a condition variable and are all told by notify_all; who is woken for nothing tells one more before it waits again, which does no harm.
#include "turns.h"
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static bool there[2];

static void collect(int kind) {
	rest(100 * kind);
	std::unique_lock l(lock);
	while (!there[kind]) {
		changed.wait(l);
		if (!there[kind])
			changed.notify_one();
	}
}

int main() {
	std::thread letters(collect, 0), parcels(collect, 1);
	rest(300);
	for (int kind = 0; kind < 2; kind++) {
		std::lock_guard l(lock);
		there[kind] = true;
		changed.notify_all();
	}
	letters.join();
	parcels.join();
}
