// Two threads compute in phases that a std::barrier keeps apart.
//
// expect: nothing
#include <barrier>
#include <chrono>
#include <cstdio>
#include <thread>

static std::barrier phase(2);
static int left, right, sum;

int main() {
	std::thread one([] {
		left = 1;
		phase.arrive_and_wait();
		sum = right;
		phase.arrive_and_wait();
	});
	std::thread two([] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		right = 2;
		phase.arrive_and_wait();
		phase.arrive_and_wait();
		sum += left;
	});
	one.join();
	two.join();
	std::printf("%d\n", sum);
}
