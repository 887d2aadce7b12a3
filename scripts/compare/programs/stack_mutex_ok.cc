// Mutexes on the stack: a second round's lie where those of the first did, in the other
// roles. A std::mutex is destroyed by no call, so only its place is known.
//
// expect: nothing
// timed
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static std::function<void()> task;
static int turn; // odd: a worker's, even: main's

static void worker(int mine) {
	std::unique_lock<std::mutex> guard(lock);
	changed.wait(guard, [=] { return turn == mine; });
	guard.unlock();
	task();
	guard.lock();
	turn++;
	changed.notify_all();
}

__attribute__((noinline)) static void play(bool swap) {
	std::mutex locks[2];
	std::mutex &outer = locks[swap], &inner = locks[!swap];
	std::unique_lock<std::mutex> guard(lock);
	task = [&] {
		std::lock_guard<std::mutex> one(outer);
		std::lock_guard<std::mutex> two(inner);
	};
	int until = ++turn + 1;
	changed.notify_all();
	changed.wait(guard, [=] { return turn == until; });
}

int main() {
	std::thread one(worker, 1), two(worker, 3);
	play(false);
	play(true);
	one.join();
	two.join();
	std::puts("done");
}
