// A shared_future is never waited for: wait_for(0) asks it again and again, and the second half begins when it says ready.
// watch: data
#include "halves.h"
#include <chrono>
#include <future>
#include <thread>

int main() {
	std::promise<int> done;
	std::shared_future<int> ready = done.get_future().share();
	std::thread second([ready] {
		while (ready.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
			rest(1);
		late();
	});
	early();
	rest(10);
	done.set_value(1);
	second.join();
	return data != 42;
}
