// A buffer is filled, and announced by a promise; the filler adds its checksum after that, while
// the reader, who was only slow in this run, may read it.
//
// expect: race checksum
// watch: checksum
#include <future>
#include <thread>

#include "fortune.h"

static int buffer[16], checksum;

int main() {
	std::promise<void> filled;
	std::future<void> ready = filled.get_future();
	std::thread writer([&] {
		for (int i = 0; i < 16; i++)
			buffer[i] = i;
		filled.set_value();
		checksum = 120;
	});
	std::thread reader([&] {
		ready.wait();
		later(1);
		int sum = checksum;
		for (int b : buffer)
			sum -= b;
		buffer[0] = sum;
	});
	writer.join();
	reader.join();
}
