// Two threads put their jobs on one std::list, each under a mutex of its own.
//
// expect: race
#include <list>
#include <mutex>
#include <thread>

#include "fortune.h"

struct Queue {
	std::list<int> jobs;
	std::mutex lock[2];

	void put(int which, int job) {
		std::lock_guard l(lock[which]);
		chance();
		jobs.push_back(job);
	}
};

int main() {
	Queue queue;
	std::thread first([&] {
		for (int i = 0; i < 5; i++)
			queue.put(0, i);
	});
	std::thread second([&] {
		later(5);
		for (int i = 0; i < 5; i++)
			queue.put(1, i);
	});
	first.join();
	second.join();
	return queue.jobs.size() > 10;
}
