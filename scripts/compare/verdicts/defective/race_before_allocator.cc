// A maximum is written under no lock before an entry is put into a map under a lock; another thread
// puts its entry in, too, and then writes the maximum. The map does not say which came first.
//
// expect: race maximum
// watch: shared
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex lock;
static std::map<int, int> entries;
static int maximum;

static void enter(int key) {
	std::lock_guard held(lock);
	entries[key] = key;
}

int main() {
	std::thread t([] {
		chance();
		maximum = 3;
		enter(3);
	});
	std::thread u([] {
		later(1);
		enter(4);
		maximum = 4;
	});
	t.join();
	u.join();
	std::printf("%d\n", maximum);
	return entries.size() != 2;
}
