// One thread locks a mutex within flockfile of a stream, the other locks the stream by flockfile within the mutex.
//
// expect: deadlock
#include <cstdio>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex lines;
static long printed;

int main() {
	std::FILE *out = std::fopen("/dev/null", "w");
	std::thread flushes([=] {
		flockfile(out);
		chance();
		{
			std::lock_guard l(lines);
			printed = 0;
		}
		funlockfile(out);
	});
	std::thread prints([=] {
		later(5);
		std::lock_guard l(lines);
		chance();
		flockfile(out);
		putc_unlocked('x', out);
		printed++;
		funlockfile(out);
	});
	flushes.join();
	prints.join();
	std::fclose(out);
}
