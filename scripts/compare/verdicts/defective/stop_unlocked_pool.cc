// The pool's destructor sets the atomic stop flag and notifies without the lock: a worker that has just found it unset goes to sleep and is never joined.
//
// expect: deadlock
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "fortune.h"

class pool {
	std::mutex lock;
	std::condition_variable more;
	std::deque<std::function<void()>> tasks;
	std::atomic<bool> stop{false};
	std::vector<std::thread> threads;

	void work() {
		for (;;) {
			std::unique_lock<std::mutex> l(lock);
			more.wait(l, [this] { return stop || !tasks.empty(); });
			if (tasks.empty())
				return;
			auto f = std::move(tasks.front());
			tasks.pop_front();
			l.unlock();
			f();
		}
	}

public:
	explicit pool(int n) {
		for (int i = 0; i < n; i++)
			threads.emplace_back(&pool::work, this);
	}
	void submit(std::function<void()> f) {
		{
			std::lock_guard<std::mutex> l(lock);
			tasks.push_back(std::move(f));
		}
		more.notify_one();
	}
	~pool() {
		stop = true;
		more.notify_all();
		for (auto &t : threads)
			t.join();
	}
};

int main() {
	std::atomic<int> done{0};
	{
		pool p(2);
		for (int i = 0; i < 4; i++)
			p.submit([&] { done++; });
		later(1);
	}
	return done != 4;
}
