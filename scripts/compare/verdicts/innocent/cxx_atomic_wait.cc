// Plain data and opposite lock orders; std::atomic::wait returns when the value that the first thread stores and notifies is there.
// watch: data
#include "halves.h"
#include <atomic>
#include <thread>

static struct {
	int other;
	std::atomic<int> stage;
} state;

int main() {
	std::thread second([] {
		state.stage.wait(0);
		late();
	});
	early();
	rest(10);
	state.stage.store(1);
	state.stage.notify_all();
	second.join();
	return data != 42;
}
