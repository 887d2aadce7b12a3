// A task of std::async also stores its result in a variable, which is read without waiting for the task.
//
// expect: race last
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

static int last;

static int add(int a, int b) {
	last = a + b;
	return last;
}

int main() {
	std::future<int> sum = std::async(std::launch::async, add, 1, 2);
	std::this_thread::sleep_for(std::chrono::milliseconds(300));
	int early = last;
	std::printf("%d %d\n", early, sum.get());
}
