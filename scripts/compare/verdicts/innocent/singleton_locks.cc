// Two functions initialise each other's singletons under locks that they nest, but the second one's initialiser needs only its own lock, and users take no lock before they ask.
// watch: opened
#include "turns.h"
#include <mutex>
#include <thread>

static std::mutex registry;
static long opened;

struct device {
	device() {
		std::lock_guard<std::mutex> l(registry);
		opened++;
	}
	long id = 7;
};

struct driver {
	device &d;
	explicit driver(device &on) : d(on) {
		std::lock_guard<std::mutex> l(registry);
		opened++;
	}
};

static device &the_device() {
	static device d;
	return d;
}

static driver &the_driver() {
	static driver d(the_device());
	return d;
}

static void uses_driver() { need(the_driver().d.id == 7, "id"); }

static void uses_device() {
	need(the_device().id == 7, "id");
	std::lock_guard<std::mutex> l(registry);
	opened += 10;
}

int main() {
	std::thread a(uses_driver), b(uses_device);
	a.join();
	b.join();
	return opened != 12;
}
