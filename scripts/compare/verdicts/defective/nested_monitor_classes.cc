// A nested monitor in two classes: the pool waits for an item of its channel under its own lock,
// which the producer needs before it can put the item in.
//
// expect: deadlock
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

class Channel {
	std::mutex lock_;
	std::condition_variable changed_;
	int items_ = 0;

public:
	void put() {
		std::lock_guard held(lock_);
		items_++;
		changed_.notify_one();
	}
	void take() {
		std::unique_lock held(lock_);
		changed_.wait(held, [this] { return items_ > 0; });
		items_--;
	}
};

class Pool {
	std::mutex lock_;
	int size_ = 0;

public:
	Channel channel;
	void grow() {
		std::lock_guard held(lock_);
		size_++;
	}
	void shrink() {
		std::lock_guard held(lock_);
		channel.take();
		size_--;
	}
};

static Pool pool;

int main() {
	std::thread producer([] {
		chance();
		pool.grow();
		later(2);
		pool.channel.put();
	});
	std::thread consumer([] {
		later(1);
		pool.shrink();
	});
	producer.join();
	consumer.join();
}
