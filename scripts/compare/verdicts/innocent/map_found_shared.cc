// A thread puts entries into a std::map under the exclusive lock of a shared mutex, others look entries up and change the found ones' atomic counters under the shared lock.
#include "turns.h"
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::map<int, std::atomic<long>> asked;
static std::shared_mutex lock;

static void look() {
	rest(100);
	std::shared_lock l(lock);
	if (auto at = asked.find(3); at != asked.end())
		at->second++;
}

int main() {
	std::thread puts([] {
		for (int i = 0; i < 6; i++) {
			std::lock_guard l(lock);
			asked[i] = 0;
		}
	});
	std::thread one(look), two(look);
	puts.join();
	one.join();
	two.join();
	return asked.size() != 6;
}
