// The halves share plain data and nest mutexes in opposite orders, but a std::binary_semaphore is released after the first and acquired before the second.
// watch: data
#include "halves.h"
#include <semaphore>
#include <thread>

static std::binary_semaphore ready(0);

int main() {
	std::thread second([] {
		ready.acquire();
		late();
	});
	early();
	rest(10);
	ready.release();
	second.join();
	return data != 42;
}
