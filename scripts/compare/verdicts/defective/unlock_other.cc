// A std::mutex is handed over: the thread that locked it lets another one unlock it, which only a
// semaphore permits.
//
// expect: misuse turn
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex turn;
static int letters;

int main() {
	std::thread writer([] {
		turn.lock();
		letters++;
		later(2);
	});
	std::thread reader([] {
		later(1);
		turn.unlock();
	});
	writer.join();
	reader.join();
	return letters != 1;
}
