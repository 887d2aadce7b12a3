// Two counting semaphores are acquired in opposite orders, but each has two permits for two threads.
#include "turns.h"
#include <semaphore>
#include <thread>

static std::counting_semaphore<2> in(2), out(2);

int main() {
	std::thread a([] {
		in.acquire();
		out.acquire();
		out.release();
		in.release();
	});
	std::thread b([] {
		rest(10);
		out.acquire();
		in.acquire();
		in.release();
		out.release();
	});
	a.join();
	b.join();
}
