// Two threads name two mutexes in opposite orders, but std::scoped_lock and std::lock take the second by try_lock and start again.
// watch: sum
#include "turns.h"
#include <mutex>
#include <thread>

static std::mutex p, q;
static long sum;

int main() {
	std::thread a([] {
		for (int i = 0; i < 5; i++) {
			std::scoped_lock both_held(p, q);
			sum++;
		}
	});
	std::thread b([] {
		for (int i = 0; i < 5; i++) {
			std::unique_lock<std::mutex> x(q, std::defer_lock), y(p, std::defer_lock);
			std::lock(x, y);
			sum++;
		}
	});
	a.join();
	b.join();
	return sum != 10;
}
