// The state is looked at and then set, not exchanged: two threads may both find it IDLE and both use the buffer.
//
// expect: race buffer
// watch: buffer
#include <atomic>
#include <thread>

#include "fortune.h"

enum state { IDLE, BUSY };
static std::atomic<state> device{IDLE};
static long buffer;

static void use(long n) {
	while (device.load() != IDLE)
		std::this_thread::yield();
	chance();
	device.store(BUSY);
	buffer += n;
	device.store(IDLE);
}

int main() {
	std::thread t([] { use(1); });
	std::thread u([] {
		later(1);
		use(2);
	});
	t.join();
	u.join();
	return buffer != 3;
}
