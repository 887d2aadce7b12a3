// Readers hold two shared mutexes in opposite orders, but shared; the only writer takes them by scoped_lock, which waits for one only while it holds no other.
// watch: value
#include "turns.h"
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex p, q;
static std::mutex writers;
static long value;

int main() {
	std::thread a([] {
		std::shared_lock<std::shared_mutex> x(p), y(q);
		need(value >= 0, "value");
	});
	std::thread b([] {
		rest(10);
		std::shared_lock<std::shared_mutex> y(q), x(p);
		need(value >= 0, "value");
	});
	std::thread c([] {
		rest(20);
		std::scoped_lock all(writers, p, q);
		value++;
	});
	a.join();
	b.join();
	c.join();
	return value != 1;
}
