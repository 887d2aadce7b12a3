// The write function of a stream locks a mutex under the stream's lock, and who holds that mutex prints only to another stream.
#include "turns.h"
#include <mutex>
#include <thread>

static std::mutex log_lock;
static long written;

static ssize_t write_locked(void *, const char *, size_t n) {
	std::lock_guard l(log_lock);
	written += n;
	return n;
}

int main() {
	cookie_io_functions_t functions{};
	functions.write = write_locked;
	FILE *logged = fopencookie(nullptr, "w", functions), *other = fopen("/dev/null", "w");
	std::thread prints([&] {
		fputs("entry\n", logged);
		fflush(logged);
	});
	std::thread reports([&] {
		rest(200);
		std::lock_guard l(log_lock);
		fprintf(other, "%ld\n", written);
	});
	prints.join();
	reports.join();
	fclose(logged);
	fclose(other);
}
