// std::scoped_lock acquires two locks in either order without a deadlock: it backs off.
//
// expect: nothing
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex a, b;
static int moved;

int main() {
	std::thread forth([] {
		std::scoped_lock both(a, b);
		moved++;
	});
	std::thread back([] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		std::scoped_lock both(b, a);
		moved++;
	});
	forth.join();
	back.join();
	std::printf("%d\n", moved);
}
