// A std::condition_variable_any with a std::shared_mutex, held for writing where the flag is set.
//
// expect: nothing
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static std::condition_variable_any changed;
static bool open;

int main() {
	std::thread waiter([] {
		std::shared_lock<std::shared_mutex> held(lock);
		while (!open)
			changed.wait_for(held, std::chrono::milliseconds(400));
	});
	std::thread opener([] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		std::unique_lock<std::shared_mutex> held(lock);
		open = true;
		changed.notify_all();
	});
	waiter.join();
	opener.join();
	std::printf("%d\n", open);
}
