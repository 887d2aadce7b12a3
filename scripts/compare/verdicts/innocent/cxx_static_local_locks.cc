// The construction of a static local nests two mutexes in the other order than its users, but every user has first passed its guard.
#include "turns.h"
#include <mutex>
#include <thread>

static std::mutex names, values;

struct Store {
	Store() {
		std::lock_guard<std::mutex> a(names);
		std::lock_guard<std::mutex> b(values);
	}
	void use() {
		std::lock_guard<std::mutex> a(values);
		std::lock_guard<std::mutex> b(names);
	}
};

static Store &store() {
	static Store s;
	return s;
}

int main() {
	std::thread a([] { store().use(); }), b([] {
		rest(10);
		store().use();
	});
	a.join();
	b.join();
}
