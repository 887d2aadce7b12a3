// A reader of a std::shared_mutex modifies the table while it holds only a shared lock.
//
// expect: race repairs
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex table;
static int repairs;

static void repair() {
	std::shared_lock<std::shared_mutex> guard(table);
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
