// The second half waits on a condition that std::notify_all_at_thread_exit signals, and whose mutex it unlocks, when the first thread has ended.
// watch: data
#include "halves.h"
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex guard;
static std::condition_variable ended;
static bool over;

static void first() {
	std::unique_lock<std::mutex> l(guard);
	early();
	over = true;
	std::notify_all_at_thread_exit(ended, std::move(l));
	rest(3);
}

static void second() {
	std::unique_lock<std::mutex> l(guard);
	ended.wait(l, [] { return over; });
	l.unlock();
	late();
}

int main() {
	std::thread u(second);
	rest(5);
	std::thread t(first);
	t.join();
	u.join();
	return 0;
}
