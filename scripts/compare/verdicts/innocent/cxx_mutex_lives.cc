// Two std::mutex live in one place one after the other, and the first is locked when its object is made anew, but by a guard whose destructor has unlocked it by then.
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

struct job {
	std::mutex lock;
	std::condition_variable changed;
	int done = 0;
};

alignas(job) static unsigned char place[sizeof(job)];

static void runs() {
	job *j = new (place) job;
	std::thread t([j] {
		std::lock_guard g(j->lock);
		j->done = 1;
		j->changed.notify_all();
	});
	{
		std::unique_lock g(j->lock);
		j->changed.wait(g, [j] { return j->done; });
	}
	t.join();
	j->~job();
}

int main() {
	runs();
	runs();
}
