// The environment is changed and asked under one mutex, and what was found is copied within it.
#include "turns.h"
#include <mutex>
#include <string>
#include <thread>

static std::mutex environment;

int main() {
	std::string found;
	std::thread sets([] {
		for (int i = 0; i < 10; i++) {
			std::lock_guard l(environment);
			setenv(("LEVEL_" + std::to_string(i)).c_str(), "high", 1);
		}
	});
	std::thread looks([&] {
		rest(200);
		std::lock_guard l(environment);
		if (const char *level = getenv("LEVEL_1"))
			found = level;
	});
	sets.join();
	looks.join();
	return found != "high";
}
