// The second half begins when its stop token says that a stop was requested, which main does after the first half.
// watch: data
#include "halves.h"
#include <thread>

int main() {
	std::jthread second([](std::stop_token stop) {
		while (!stop.stop_requested())
			rest(1);
		late();
	});
	early();
	rest(10);
	second.request_stop();
	second.join();
	return data != 42;
}
