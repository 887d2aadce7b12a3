// A callback wants a lock that its caller's caller may hold in the other order, but it only tries, and puts the work off if it cannot have it.
// watch: events
#include "turns.h"
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex model, view;
static long events;
static std::atomic<long> deferred{0};

static void redraw() {
	std::lock_guard<std::mutex> v(view);
	std::unique_lock<std::mutex> m(model, std::try_to_lock);
	if (m.owns_lock())
		events++;
	else
		deferred++;
}

static void change() {
	std::lock_guard<std::mutex> m(model);
	events += 1 + deferred.exchange(0);
	std::lock_guard<std::mutex> v(view);
}

int main() {
	std::thread a([] { for (int i = 0; i < 5; i++, rest(1)) redraw(); });
	std::thread b([] { for (int i = 0; i < 5; i++, rest(1)) change(); });
	a.join();
	b.join();
	return events + deferred != 10;
}
