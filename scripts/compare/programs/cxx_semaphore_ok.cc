// A std::counting_semaphore hands a letter over, and a std::binary_semaphore is used as a lock.
//
// expect: nothing
#include <chrono>
#include <cstdio>
#include <semaphore>
#include <thread>

static std::counting_semaphore<8> sent(0);
static std::binary_semaphore desk(1);
static int letter, stamps;

static void stamp() {
	desk.acquire();
	stamps++;
	desk.release();
}

int main() {
	std::thread writer([] {
		letter = 41;
		stamp();
		sent.release();
	});
	std::thread reader([] {
		std::this_thread::sleep_for(std::chrono::milliseconds(150));
		sent.acquire();
		letter++;
		stamp();
	});
	writer.join();
	reader.join();
	std::printf("%d %d\n", letter, stamps);
}
