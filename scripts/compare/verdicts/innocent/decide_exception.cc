// The second half follows only if the map's at() finds a key under a lock; the first half inserts it when it is over, and before that at() throws.
// watch: data
#include "halves.h"
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

static std::mutex guard;
static std::map<std::string, int> stages;

static void first() {
	early();
	std::lock_guard<std::mutex> l(guard);
	stages["first"] = 1;
}

static int stage(const char *s) {
	std::lock_guard<std::mutex> l(guard);
	return stages.at(s);
}

static void second() {
	rest(20);
	try {
		stage("first");
	} catch (const std::out_of_range &) {
		return;
	}
	late();
}

int main() {
	std::thread t(first), u(second);
	t.join();
	u.join();
	return 0;
}
