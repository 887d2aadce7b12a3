// Two threads use a function's static object, which only one of them constructs, as C++ guarantees.
//
// expect: nothing
#include <chrono>
#include <cstdio>
#include <thread>

static int made;

struct Settings {
	int level;
	Settings() : level(++made) {}
};

static int level() {
	static Settings settings;
	return settings.level;
}

int main() {
	int first = 0, second = 0;
	std::thread one([&] { first = level(); });
	std::thread two([&] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		second = level();
	});
	one.join();
	two.join();
	std::printf("%d %d\n", first, second);
}
