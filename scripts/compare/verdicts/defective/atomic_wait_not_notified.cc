// A thread waits by std::atomic::wait until the stage changes, and nobody notifies: in the run it comes after the change.
//
// expect: deadlock
#include <atomic>
#include <thread>

#include "fortune.h"

static std::atomic<int> stage;

int main() {
	std::thread opens([] {
		chance();
		stage.store(1);
	});
	std::thread waits([] {
		later(5);
		stage.wait(0);
	});
	opens.join();
	waits.join();
}
