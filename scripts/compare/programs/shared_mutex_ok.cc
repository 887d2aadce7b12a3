// A thread that modifies the table holds its std::shared_mutex exclusively.
//
// expect: nothing
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex table;
static int repairs;

static void repair() {
	std::unique_lock<std::shared_mutex> guard(table);
	repairs++;
}

int main() {
	std::thread first([] { repair(); });
	std::thread second([] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		repair();
	});
	first.join();
	second.join();
	std::printf("%d\n", repairs);
}
