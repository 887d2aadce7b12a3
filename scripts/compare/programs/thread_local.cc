// What each thread counted in a thread_local object is added up by its destructor, without a lock.
//
// expect: race total
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex lock;
static int total;

struct Count {
	int lines = 0;
	~Count() { total += lines; }
};

static thread_local Count count;

int main() {
	std::thread one([] { count.lines = 1; });
	std::thread two([] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		count.lines = 2;
	});
	one.join();
	two.join();
	std::lock_guard<std::mutex> held(lock);
	std::printf("%d\n", total);
}
