// Double-checked locking with a plain pointer: the first look at it is under no lock.
//
// expect: race instance
// watch: instance
#include <mutex>
#include <thread>

#include "fortune.h"

struct Settings {
	int depth = 7;
};

static std::mutex lock;
static Settings *instance;

static Settings *settings() {
	if (!instance) {
		std::lock_guard held(lock);
		if (!instance)
			instance = new Settings;
	}
	return instance;
}

int main() {
	int a = 0, b = 0;
	std::thread t([&] {
		chance();
		a = settings()->depth;
	});
	std::thread u([&] {
		later(1);
		b = settings()->depth;
	});
	t.join();
	u.join();
	delete instance;
	return a != b;
}
