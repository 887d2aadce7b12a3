// The slot's payload is written and read by any thread under no lock, but only by the one whose compare-exchange took the slot from EMPTY to FILLING or from FULL to DRAINING.
// watch: payload
#include "turns.h"
#include <atomic>
#include <thread>

enum state { EMPTY, FILLING, FULL, DRAINING };
static std::atomic<state> slot{EMPTY};
static long payload;
static std::atomic<long> taken{0};

static void put(long n) {
	for (;;) {
		state want = EMPTY;
		if (slot.compare_exchange_weak(want, FILLING, std::memory_order_acquire))
			break;
		std::this_thread::yield();
	}
	payload = n;
	slot.store(FULL, std::memory_order_release);
}

static void get() {
	for (;;) {
		state want = FULL;
		if (slot.compare_exchange_weak(want, DRAINING, std::memory_order_acquire))
			break;
		std::this_thread::yield();
	}
	taken += payload;
	payload = 0;
	slot.store(EMPTY, std::memory_order_release);
}

int main() {
	std::thread p([] { for (int i = 1; i <= 4; i++) put(i); });
	std::thread q([] { for (int i = 1; i <= 4; i++) put(10 * i); });
	std::thread c([] { for (int i = 0; i < 4; i++) get(); });
	std::thread d([] { for (int i = 0; i < 4; i++) get(); });
	p.join();
	q.join();
	c.join();
	d.join();
	return taken != 110;
}
