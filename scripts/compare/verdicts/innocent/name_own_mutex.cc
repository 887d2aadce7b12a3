// A class of the program is called mutex, in a namespace std11, and its lock and unlock may come from different threads: it is a ticket that is handed on.
// watch: value
#include "turns.h"
#include <atomic>
#include <thread>

namespace std11 {
class mutex {
	std::atomic<bool> taken_{false};

public:
	__attribute__((noinline)) void lock() {
		while (taken_.exchange(true, std::memory_order_acquire))
			rest(1);
	}
	__attribute__((noinline)) void unlock() { taken_.store(false, std::memory_order_release); }
};
} // namespace std11

static std11::mutex m;
static long value;

int main() {
	m.lock();
	value = 1;
	std::thread other([] {
		value++;
		m.unlock();
	});
	m.lock();
	value++;
	m.unlock();
	other.join();
	return value != 3;
}
