// The stop flag is set under no lock and can come between a worker's look and its sleep, but whoever set it locks and unlocks the mutex before it notifies.
// watch: done
#include "turns.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

static std::mutex guard;
static std::condition_variable filled;
static std::atomic<bool> stop{false};
static std::deque<int> jobs;
static long done;

static void works() {
	std::unique_lock<std::mutex> l(guard);
	for (;;) {
		while (jobs.empty() && !stop.load())
			filled.wait(l);
		if (jobs.empty())
			return;
		done += jobs.front();
		jobs.pop_front();
	}
}

int main() {
	std::thread a(works), b(works);
	for (int i = 0; i < 3; i++) {
		{ std::lock_guard<std::mutex> l(guard); jobs.push_back(i); }
		filled.notify_one();
	}
	rest(5);
	stop.store(true);
	{ std::lock_guard<std::mutex> l(guard); }
	filled.notify_all();
	a.join();
	b.join();
	return done != 3;
}
