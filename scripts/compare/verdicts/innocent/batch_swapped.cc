// The batch is worked on under no lock while others push, but what is worked on is the thread's own vector, into which the queue was swapped under the lock.
// watch: written
// build: -O2
#include "turns.h"
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex guard;
static std::condition_variable more;
static std::vector<std::string> queue;
static bool closed;
static size_t written;

static void writer() {
	std::vector<std::string> batch;
	for (bool last = false; !last;) {
		{
			std::unique_lock<std::mutex> l(guard);
			more.wait(l, [] { return closed || !queue.empty(); });
			batch.swap(queue);
			last = closed;
		}
		for (auto &s : batch)
			written += s.size();
		batch.clear();
	}
}

static void logs() {
	for (int i = 0; i < 5; i++) {
		{
			std::lock_guard<std::mutex> l(guard);
			queue.emplace_back("a line of the log that is not short");
		}
		more.notify_one();
	}
}

int main() {
	std::thread w(writer), a(logs), b(logs);
	a.join();
	b.join();
	{
		std::lock_guard<std::mutex> l(guard);
		closed = true;
	}
	more.notify_one();
	w.join();
	return written != 10 * 35;
}
