// A thread waits by std::atomic::wait until the stage changes, and in the run comes after the change; had it come before, the notification would have woken it.
#include "turns.h"
#include <atomic>
#include <thread>

static std::atomic<int> stage;
static long plan;

int main() {
	long seen = 0;
	std::thread opens([] {
		plan = 7;
		stage.store(1);
		stage.notify_one();
	});
	std::thread waits([&] {
		rest(200);
		stage.wait(0);
		seen = plan;
	});
	opens.join();
	waits.join();
	return seen != 7;
}
