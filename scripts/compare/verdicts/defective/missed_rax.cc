// Two threads count each other's events, as in the Remote Agent: each looks at the other's count,
// and waits if it has not changed since. The look is not under the mutex of the wait, so a signal
// may come in between, and is lost.
//
// expect: deadlock
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

struct Event {
	std::atomic<int> count{0};
	std::mutex lock;
	std::condition_variable changed;
	void wait() {
		std::unique_lock held(lock);
		changed.wait(held);
	}
	void signal() {
		std::lock_guard held(lock);
		count++;
		changed.notify_all();
	}
};

static Event plan, exec_done;

int main() {
	std::thread planner([] {
		int seen = exec_done.count;
		later(1);
		plan.signal();
		if (seen == exec_done.count)
			exec_done.wait();
	});
	std::thread executive([] {
		int seen = plan.count;
		if (seen == plan.count)
			plan.wait();
		later(1);
		exec_done.signal();
	});
	planner.join();
	executive.join();
}
