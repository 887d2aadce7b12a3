// A detached thread adds to a static list under a mutex; main returns without waiting for it, and the list is destroyed
// under its hands.
//
// expect: race
// expect: misuse
#include <mutex>
#include <thread>
#include <vector>

#include "fortune.h"

static std::mutex lock;
static std::vector<int> samples;

int main() {
	std::thread([] {
		for (int i = 0; i < 5; i++) {
			std::lock_guard l(lock);
			chance();
			samples.push_back(i);
		}
	}).detach();
	later(5);
}
