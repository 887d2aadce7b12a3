// Opposite orders in two tasks of std::async: both futures are asked for only after both tasks have
// been started, so nothing keeps one task after the other.
//
// expect: deadlock index_lock cache_lock
#include <future>
#include <mutex>

#include "fortune.h"

static std::mutex index_lock, cache_lock;
static int entries;

static int insert() {
	std::lock_guard outer(index_lock);
	chance();
	std::lock_guard inner(cache_lock);
	return ++entries;
}

static int evict() {
	later(1);
	std::lock_guard outer(cache_lock);
	chance();
	std::lock_guard inner(index_lock);
	return --entries;
}

int main() {
	auto in = std::async(std::launch::async, insert);
	auto out = std::async(std::launch::async, evict);
	in.get();
	out.get();
	return entries;
}
