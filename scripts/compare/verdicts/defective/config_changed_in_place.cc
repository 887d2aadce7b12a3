// The configuration is published by an atomic pointer and then changed in place, under a lock that the readers do not take.
//
// expect: race level
// watch: level of config
#include <atomic>
#include <mutex>
#include <thread>

#include "fortune.h"

struct config {
	int level;
	int size;
};

static std::atomic<config *> current{nullptr};
static std::mutex writers;
static std::atomic<int> seen{0};

static void publish(int level) {
	std::lock_guard<std::mutex> l(writers);
	if (config *c = current.load())
		c->level = level;
	else
		current.store(new config{level, 1});
}

static void read_it() {
	if (config *c = current.load())
		seen += c->level;
}

int main() {
	publish(1);
	std::thread t(read_it), v([] {
		later(1);
		publish(2);
	});
	t.join();
	v.join();
	read_it();
	delete current.load();
	return seen != 3;
}
