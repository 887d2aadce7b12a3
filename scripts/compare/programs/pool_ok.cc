// A pool of threads takes tasks from a queue. The results are read when no task is undone.
//
// expect: nothing
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static std::deque<int> tasks;
static int results, undone;
static bool stop;

static void work() {
	std::unique_lock<std::mutex> held(lock);
	for (;;) {
		changed.wait(held, [] { return stop || !tasks.empty(); });
		if (tasks.empty())
			return;
		int task = tasks.front();
		tasks.pop_front();
		held.unlock();
		results = results + task;
		held.lock();
		undone--;
		changed.notify_all();
	}
}

int main() {
	std::thread worker(work);
	{
		std::lock_guard<std::mutex> held(lock);
		tasks.push_back(7);
		undone++;
		changed.notify_all();
	}
	std::this_thread::sleep_for(std::chrono::milliseconds(300));
	std::unique_lock<std::mutex> held(lock);
	changed.wait(held, [] { return !undone; });
	held.unlock();
	int sum = results;
	held.lock();
	stop = true;
	changed.notify_all();
	held.unlock();
	worker.join();
	std::printf("%d\n", sum);
}
