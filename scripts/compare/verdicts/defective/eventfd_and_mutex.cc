// An eventfd in the mode of a semaphore keeps a device for one thread at a time; one thread locks the mutex of the
// settings while it has the device, another waits for the device within that mutex.
//
// expect: deadlock
#include <mutex>
#include <sys/eventfd.h>
#include <thread>

#include "fortune.h"

class Device {
	int free_ = eventfd(1, EFD_SEMAPHORE);

public:
	void lock() {
		eventfd_t token;
		if (eventfd_read(free_, &token))
			std::terminate();
	}
	void unlock() { eventfd_write(free_, 1); }
};

static std::mutex settings;

int main() {
	Device device;
	std::thread scans([&] {
		std::lock_guard d(device);
		chance();
		std::lock_guard s(settings);
	});
	std::thread configures([&] {
		later(5);
		std::lock_guard s(settings);
		chance();
		std::lock_guard d(device);
	});
	scans.join();
	configures.join();
}
