// Plain data and opposite lock orders, but a promise is fulfilled after the first half, and the future is awaited before the second.
// watch: data
#include "halves.h"
#include <future>
#include <thread>

int main() {
	std::promise<void> done;
	std::future<void> ready = done.get_future();
	std::thread second([&] {
		ready.get();
		late();
	});
	early();
	rest(10);
	done.set_value();
	second.join();
	return data != 42;
}
