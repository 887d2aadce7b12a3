// One thread locks a mutex within flockfile of a stream, another locks a stream by flockfile within the mutex, but they are two streams.
#include "turns.h"
#include <mutex>
#include <thread>

static std::mutex lines;
static long printed;

int main() {
	std::FILE *out = std::fopen("/dev/null", "w"), *errors = std::fopen("/dev/null", "w");
	std::thread flushes([=] {
		flockfile(out);
		{
			std::lock_guard l(lines);
			printed = 0;
		}
		funlockfile(out);
	});
	std::thread prints([=] {
		rest(200);
		std::lock_guard l(lines);
		flockfile(errors);
		putc_unlocked('x', errors);
		printed++;
		funlockfile(errors);
	});
	flushes.join();
	prints.join();
	std::fclose(out);
	std::fclose(errors);
}
