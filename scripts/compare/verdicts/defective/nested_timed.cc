// A nested monitor with a time limit for each wait, after which the consumer looks again, but keeps
// the outer lock that the producer needs before it can fill the shelf: it looks for ever.
//
// expect: deadlock
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex shop, shelf;
static std::condition_variable filled;
static int goods, orders;

int main() {
	std::thread producer([] {
		chance();
		{
			std::lock_guard held(shop);
			orders++;
		}
		later(2);
		std::lock_guard held(shelf);
		goods++;
		filled.notify_one();
	});
	std::thread consumer([] {
		later(1);
		std::lock_guard outer(shop);
		std::unique_lock inner(shelf);
		while (goods == 0)
			filled.wait_for(inner, std::chrono::milliseconds(500));
		goods--;
	});
	producer.join();
	consumer.join();
	return goods;
}
