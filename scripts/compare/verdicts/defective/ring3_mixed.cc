// A ring of a mutex, a shared_mutex and a recursive mutex in three threads, two of which do other
// things under their locks first.
//
// expect: deadlock model view controller
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "fortune.h"

static std::mutex model;
static std::shared_mutex view;
static std::recursive_mutex controller;
static int state, drawn, clicks;

static void update() {
	std::lock_guard outer(model);
	state++;
	chance();
	std::unique_lock inner(view);
	drawn = state;
}

static void draw() {
	later(1);
	{
		std::lock_guard first(model);
		state += 0;
	}
	std::shared_lock outer(view);
	chance();
	std::lock_guard inner(controller);
	clicks += drawn;
}

static void click() {
	later(2);
	std::lock_guard outer(controller);
	std::lock_guard again(controller);
	chance();
	std::lock_guard inner(model);
	state++;
}

int main() {
	std::thread t(update), u(draw), v(click);
	t.join();
	u.join();
	v.join();
	return state != 2;
}
