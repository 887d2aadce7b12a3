// A jthread that is a member is joined by the assignment of another one, under the lock of the
// object, which the old thread locks when it reports: in the run it had reported before.
//
// expect: deadlock
#include <mutex>
#include <thread>

#include "fortune.h"

class Monitor {
	std::mutex lock_;
	int reports_ = 0;
	std::jthread worker_;

	void report() {
		chance();
		std::lock_guard held(lock_);
		reports_++;
	}

public:
	void restart() {
		std::lock_guard held(lock_);
		worker_ = std::jthread([this] { report(); });
	}
	int stop() {
		std::lock_guard held(lock_);
		worker_ = std::jthread();
		return reports_;
	}
};

int main() {
	Monitor monitor;
	monitor.restart();
	later(1);
	return monitor.stop() != 1;
}
