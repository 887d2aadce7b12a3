// Opposite orders, for which each thread waits until an atomic flag says that nobody is inside, and
// then sets it: between the look and the setting the other may look too.
//
// expect: deadlock sugar flour
#include <atomic>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::atomic<bool> inside;
static std::mutex sugar, flour;
static int cakes;

static void bake(std::mutex &first, std::mutex &second) {
	while (inside.load())
		std::this_thread::yield();
	chance();
	inside.store(true);
	{
		std::lock_guard outer(first);
		chance();
		std::lock_guard inner(second);
		cakes++;
	}
	inside.store(false);
}

int main() {
	std::thread t([] { bake(sugar, flour); });
	std::thread u([] {
		later(1);
		bake(flour, sugar);
	});
	t.join();
	u.join();
	return cakes != 2;
}
