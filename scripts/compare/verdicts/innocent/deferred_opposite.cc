// Two tasks given to std::async nest two locks in opposite orders, but both are deferred: they run in the thread that asks for their results, one after the other.
// watch: total
#include "turns.h"
#include <future>
#include <mutex>

static std::mutex index_lock, heap_lock;
static long total;

static long vacuum() {
	std::lock_guard<std::mutex> a(index_lock);
	std::lock_guard<std::mutex> b(heap_lock);
	return ++total;
}

static long insert() {
	std::lock_guard<std::mutex> a(heap_lock);
	std::lock_guard<std::mutex> b(index_lock);
	return total += 2;
}

int main() {
	auto v = std::async(std::launch::deferred, vacuum);
	auto i = std::async(std::launch::deferred, insert);
	auto other = std::async(std::launch::async, [] { rest(3); return 1L; });
	long sum = v.get() + i.get() + other.get();
	return sum != 5;
}
