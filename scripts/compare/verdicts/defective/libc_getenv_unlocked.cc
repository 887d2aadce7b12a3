// The environment is changed under a mutex, but one reader asks getenv without it.
//
// expect: race
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "fortune.h"

static std::mutex environment;

int main() {
	std::thread sets([] {
		for (int i = 0; i < 10; i++) {
			std::lock_guard l(environment);
			setenv(("LEVEL_" + std::to_string(i)).c_str(), "high", 1);
		}
	});
	std::thread looks([] {
		later(5);
		if (const char *level = getenv("LEVEL_1"); level && !*level)
			std::terminate();
	});
	sets.join();
	looks.join();
}
