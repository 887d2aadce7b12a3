// Each thread fills a std::list of its own under no lock, and splices it into the common one under a mutex.
#include "turns.h"
#include <list>
#include <mutex>
#include <thread>

static std::list<int> jobs;
static std::mutex lock;

static void fill(int first) {
	std::list<int> own;
	for (int i = first; i < first + 5; i++)
		own.push_back(i);
	rest(20 * first);
	std::lock_guard l(lock);
	jobs.splice(jobs.end(), own);
}

int main() {
	std::thread one(fill, 1), two(fill, 6);
	one.join();
	two.join();
	return jobs.size() != 10;
}
