// Who opens a door notifies before it stores what the waiting thread waits for: that thread may look again in between,
// and sleep for ever. In the run it comes when all is done.
//
// expect: deadlock
#include <atomic>
#include <thread>

#include "fortune.h"

struct Door {
	std::atomic<bool> open{false};

	void pass() const { open.wait(false); }
	void unlock() {
		open.notify_all();
		chance();
		open.store(true);
	}
};

static Door door;

int main() {
	std::thread keeper([] { door.unlock(); });
	later(5);
	door.pass();
	keeper.join();
}
