// The second half is a virtual function of the object that is found under a lock, which the first half puts there when it is over; the object before does nothing.
// watch: data
// build: -O2
#include "halves.h"
#include <mutex>
#include <shared_mutex>
#include <thread>

struct mode {
	virtual ~mode() = default;
	virtual void run() {}
};
struct over : mode {
	void run() override { late(); }
};

static std::shared_mutex guard;
static mode idle;
static over after;
static mode *current = &idle;

static void first() {
	early();
	std::unique_lock<std::shared_mutex> l(guard);
	current = &after;
}

static mode *get() {
	std::shared_lock<std::shared_mutex> l(guard);
	return current;
}

int main() {
	std::thread t(first), u([] {
		rest(20);
		get()->run();
	});
	t.join();
	u.join();
	return 0;
}
