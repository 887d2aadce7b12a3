// A C++20 semaphore hands an order over. The semaphore is made of atomic
// instructions inside this program, which tracepredict does not observe: it
// reports the race as potential only, and says why.
#include <cstdio>
#include <semaphore>
#include <thread>

static int order;
static std::counting_semaphore<8> ready{0};

static void cook() {
	ready.acquire();
	std::printf("cooking order %d\n", order);
	order = 0;
}

int main() {
	std::thread kitchen(cook);
	order = 7;
	ready.release();
	kitchen.join();
	return 0;
}
