// A std::timed_mutex and a std::shared_timed_mutex that are acquired with a time limit guard two counters.
//
// expect: nothing
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

static std::timed_mutex door;
static std::shared_timed_mutex book;
static int visitors, pages;

static void visit() {
	std::unique_lock<std::timed_mutex> in(door, 10s);
	visitors++;
	std::unique_lock<std::shared_timed_mutex> writing(book, 10s);
	pages++;
}

int main() {
	std::thread one(visit);
	std::thread two([] {
		std::this_thread::sleep_for(150ms);
		visit();
	});
	one.join();
	two.join();
	std::printf("%d %d\n", visitors, pages);
}
