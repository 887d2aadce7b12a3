// Each thread counts in its own thread-local and main reads the sum under no lock, but the thread-local's destructor adds it under the lock before the thread's end, and main has joined all.
// watch: sum
#include "turns.h"
#include <mutex>
#include <thread>
#include <vector>

static std::mutex guard;
static long sum;

struct tally {
	long n = 0;
	~tally() {
		std::lock_guard<std::mutex> l(guard);
		sum += n;
	}
};
static thread_local tally mine;

static void counts(int times) {
	for (int i = 0; i < times; i++)
		mine.n++;
	rest(2);
}

int main() {
	std::vector<std::thread> threads;
	for (int i = 1; i <= 4; i++)
		threads.emplace_back(counts, 10 * i);
	for (auto &t : threads)
		t.join();
	return sum != 100;
}
