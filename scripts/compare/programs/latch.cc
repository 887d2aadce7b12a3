// A std::latch of two: one worker counts it down before its work is done.
//
// expect: race right
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
		done.count_down();
		right = 2;
	});
	std::this_thread::sleep_for(std::chrono::milliseconds(150));
	done.wait();
	int sum = left + right;
	one.join();
	two.join();
	std::printf("%d\n", sum);
}
