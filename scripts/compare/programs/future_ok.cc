// A task of std::async and one with a std::promise write more than their results, which is read after the
// results have been received.
//
// expect: nothing
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

static int last, parts;

static int add(int a, int b) {
	last = a + b;
	return last;
}

int main() {
	std::future<int> sum = std::async(std::launch::async, add, 1, 2);
	std::promise<int> given;
	std::future<int> product = given.get_future();
	std::thread giver([&given] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		parts = 2;
		given.set_value(6);
	});
	int both = sum.get() + product.get();
	std::printf("%d %d %d\n", both, last, parts);
	parts = 0;
	giver.join();
}
