// Nobody fulfils the promise: it is destroyed after the first half, and the future's exception (broken_promise) lets the second begin.
// watch: data
#include "halves.h"
#include <future>
#include <optional>
#include <thread>

int main() {
	std::optional<std::promise<int>> promise(std::in_place);
	std::future<int> ready = promise->get_future();
	std::thread second([&] {
		try {
			ready.get();
		} catch (const std::future_error &) {
			late();
		}
	});
	early();
	rest(10);
	promise.reset();
	second.join();
	return data != 42;
}
