// Two threads wait for a notification without looking whether it has come: it may come before one of them waits. What
// locks and waits are functions of the C++ library's headers, inlined in the program.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable go;

static void runner() {
	std::unique_lock held(lock);
	go.wait(held);
}

int main() {
	std::thread one(runner), two(runner);
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	{
		std::lock_guard held(lock);
		go.notify_all();
	}
	one.join();
	two.join();
}
