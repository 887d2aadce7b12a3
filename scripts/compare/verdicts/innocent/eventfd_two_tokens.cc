// An eventfd in the mode of a semaphore has a token for each of the two threads that ever want one, so that taking one within a mutex never waits.
#include "turns.h"
#include <mutex>
#include <sys/eventfd.h>
#include <thread>

static std::mutex settings;

int main() {
	int free = eventfd(2, EFD_SEMAPHORE);
	auto take = [=] {
		eventfd_t token;
		need(!eventfd_read(free, &token), "eventfd_read");
	};
	std::thread scans([&] {
		take();
		{ std::lock_guard s(settings); }
		eventfd_write(free, 1);
	});
	std::thread configures([&] {
		rest(200);
		std::lock_guard s(settings);
		take();
		eventfd_write(free, 1);
	});
	scans.join();
	configures.join();
}
