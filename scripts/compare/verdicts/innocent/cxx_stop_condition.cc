// The thread waits on a condition_variable_any whose predicate never comes true, but its wait takes a stop token: the request, after the first half, ends it.
// watch: data
#include "halves.h"
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable_any changed;

int main() {
	std::jthread second([](std::stop_token stop) {
		std::unique_lock<std::mutex> held(lock);
		changed.wait(held, stop, [] { return false; });
		held.unlock();
		late();
	});
	rest(10);
	early();
	second.request_stop();
	second.join();
	return data != 42;
}
