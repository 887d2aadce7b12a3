// Two threads append to one std::string, the one under a mutex, the other without.
//
// expect: race
#include <mutex>
#include <string>
#include <thread>

#include "fortune.h"

static std::string journal;
static std::mutex lock;

int main() {
	std::thread first([] {
		for (int i = 0; i < 10; i++) {
			std::lock_guard l(lock);
			journal += "first ";
		}
	});
	std::thread second([] {
		later(5);
		for (int i = 0; i < 10; i++)
			journal.append("second ");
	});
	first.join();
	second.join();
	return journal.size() > 130;
}
