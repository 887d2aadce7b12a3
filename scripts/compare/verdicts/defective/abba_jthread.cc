// Opposite orders in two jthreads that look at their stop tokens: nobody asks them to stop, since
// both are joined before their destructors are called.
//
// expect: deadlock queue_lock stats_lock
#include <mutex>
#include <stop_token>
#include <thread>

#include "fortune.h"

static std::mutex queue_lock, stats_lock;
static int queued, counted;

int main() {
	std::jthread producer([](std::stop_token stop) {
		std::scoped_lock outer(queue_lock);
		if (stop.stop_requested())
			return;
		queued++;
		chance();
		std::scoped_lock inner(stats_lock);
		counted++;
	});
	std::jthread reporter([](std::stop_token stop) {
		later(1);
		std::scoped_lock outer(stats_lock);
		if (stop.stop_requested())
			return;
		counted++;
		chance();
		std::scoped_lock inner(queue_lock);
		queued--;
	});
	producer.join();
	reporter.join();
}
