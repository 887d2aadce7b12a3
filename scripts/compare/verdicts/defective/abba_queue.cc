// Opposite orders in two jobs that a pool takes from a queue: two workers took one each, and
// nothing makes the second job wait for the first one's end.
//
// expect: deadlock users groups
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "fortune.h"

static std::mutex queue_lock, users, groups;
static std::condition_variable ready;
static std::deque<std::function<void()>> jobs;
static bool closed;
static int members;

static void work() {
	for (;;) {
		std::function<void()> job;
		{
			std::unique_lock held(queue_lock);
			ready.wait(held, [] { return closed || !jobs.empty(); });
			if (jobs.empty())
				return;
			job = std::move(jobs.front());
			jobs.pop_front();
		}
		job();
	}
}

static void add_user() {
	std::lock_guard outer(users);
	later(1);
	std::lock_guard inner(groups);
	members++;
}

static void drop_group() {
	later(2);
	std::lock_guard outer(groups);
	chance();
	std::lock_guard inner(users);
	members--;
}

int main() {
	std::vector<std::thread> pool;
	for (int i = 0; i < 2; i++)
		pool.emplace_back(work);
	{
		std::lock_guard held(queue_lock);
		jobs.push_back(add_user);
		jobs.push_back(drop_group);
		closed = true;
	}
	ready.notify_all();
	for (auto &t : pool)
		t.join();
	return members;
}
