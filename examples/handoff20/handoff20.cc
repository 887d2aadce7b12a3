// A C++20 semaphore hands an order over. The semaphore is made of atomic
// accesses inside this program, which tracepredict knows by the debug
// information: they order what both threads do with the order.
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
