// Two threads initialise the table by std::call_once, and both use it.
//
// expect: nothing
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

static std::once_flag made;
static int table;

static int use() {
	std::call_once(made, [] { table = 1; });
	return table;
}

int main() {
	int first = 0, second = 0;
	std::thread one([&] { first = use(); });
	std::thread two([&] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		second = use();
	});
	one.join();
	two.join();
	std::printf("%d %d\n", first, second);
}
