// The first half runs in the destructor of a thread_local after the value was set, but it was set by set_value_at_thread_exit, which makes it ready only later.
// watch: data
#include "halves.h"
#include <future>
#include <thread>

struct AtEnd {
	bool used = false;
	~AtEnd() { early(); }
};

static thread_local AtEnd at_end;

int main() {
	std::promise<void> promise;
	std::future<void> ready = promise.get_future();
	std::thread first([&promise] {
		at_end.used = true;
		promise.set_value_at_thread_exit();
		rest(10);
	});
	ready.wait();
	late();
	first.join();
	return data != 42;
}
