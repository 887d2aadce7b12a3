// Tasks of a thread pool share plain data under no lock and run in any of two threads, but the second is submitted when the first's future is ready.
// watch: data
#include "halves.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
	std::mutex lock;
	std::condition_variable changed;
	std::deque<std::function<void()>> queue;
	bool stop = false;
	std::vector<std::jthread> workers;

	void work() {
		for (;;) {
			std::unique_lock<std::mutex> l(lock);
			changed.wait(l, [&] { return stop || !queue.empty(); });
			if (queue.empty())
				return;
			auto task = std::move(queue.front());
			queue.pop_front();
			l.unlock();
			task();
		}
	}

public:
	Pool() {
		for (int i = 0; i < 2; i++)
			workers.emplace_back([this] { work(); });
	}
	~Pool() {
		std::lock_guard<std::mutex> l(lock);
		stop = true;
		changed.notify_all();
	}
	void submit(std::function<void()> f) {
		std::lock_guard<std::mutex> l(lock);
		queue.push_back(std::move(f));
		changed.notify_one();
	}
};

int main() {
	std::promise<void> one_done, two_done;
	Pool pool;
	pool.submit([&] {
		early();
		one_done.set_value();
		rest(20);
	});
	one_done.get_future().wait();
	pool.submit([&] {
		late();
		two_done.set_value();
	});
	two_done.get_future().wait();
	return data != 42;
}
