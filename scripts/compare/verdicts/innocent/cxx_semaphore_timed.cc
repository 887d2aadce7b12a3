// The second half polls a semaphore with try_acquire_for, which mostly fails and orders nothing, and goes on when it has succeeded.
// watch: data
#include "halves.h"
#include <chrono>
#include <semaphore>
#include <thread>

int main() {
	std::counting_semaphore<8> ready(0);
	std::thread second([&] {
		while (!ready.try_acquire_for(std::chrono::milliseconds(2)))
			;
		late();
	});
	early();
	rest(10);
	ready.release(1);
	second.join();
	return data != 42;
}
