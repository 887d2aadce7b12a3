// Opposite orders: the first thread names itself when it is through, and the second goes on if it has a name itself
// (pthread_getname_np), which it always has.
//
// expect: deadlock anchor sail
#include <mutex>
#include <pthread.h>
#include <thread>

#include "fortune.h"

static std::mutex anchor, sail;

int main() {
	std::thread first([] {
		{
			std::lock_guard a(anchor);
			chance();
			std::lock_guard s(sail);
		}
		pthread_setname_np(pthread_self(), "over");
	});
	std::thread second([] {
		char name[16] = "";
		later(5);
		if (pthread_getname_np(pthread_self(), name, sizeof name) || !name[0])
			return;
		std::lock_guard s(sail);
		chance();
		std::lock_guard a(anchor);
	});
	first.join();
	second.join();
}
