// A std::latch of two: what both workers did before they counted it down is read after it.
//
// expect: nothing
#include <chrono>
#include <cstdio>
#include <latch>
#include <thread>

static std::latch done(2);
static int left, right;

int main() {
	std::thread one([] {
		left = 1;
		done.count_down();
	});
	std::thread two([] {
		right = 2;
		done.count_down();
	});
	std::this_thread::sleep_for(std::chrono::milliseconds(150));
	done.wait();
	int sum = left + right;
	one.join();
	two.join();
	std::printf("%d\n", sum);
}
