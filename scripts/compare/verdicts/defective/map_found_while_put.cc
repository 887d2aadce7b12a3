// A thread puts entries into a std::map under a mutex, and another one looks an entry up under a shared lock of another
// mutex.
//
// expect: race
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "fortune.h"

static std::map<int, long> prices;
static std::mutex writers;
static std::shared_mutex readers;

int main() {
	long found = 0;
	std::thread puts([] {
		for (int i = 0; i < 6; i++) {
			std::lock_guard l(writers);
			prices[i] = 10 * i;
		}
	});
	std::thread looks([&] {
		later(5);
		std::shared_lock l(readers);
		if (auto at = prices.find(3); at != prices.end())
			found = at->second;
	});
	puts.join();
	looks.join();
	return found > 30;
}
