// Two std::mutex are nested in opposite orders and a plain variable is changed, but both threads hold the binary semaphore meanwhile.
// watch: total
#include "turns.h"
#include <mutex>
#include <semaphore>
#include <thread>

static std::binary_semaphore gate(1);
static std::mutex p, q;
static long total;

static void section(std::mutex &outer, std::mutex &inner) {
	gate.acquire();
	{
		std::lock_guard<std::mutex> a(outer);
		std::lock_guard<std::mutex> b(inner);
		total++;
	}
	total++;
	gate.release();
}

int main() {
	std::thread a([] { section(p, q); });
	std::thread b([] {
		rest(15);
		section(q, p);
	});
	a.join();
	b.join();
	return total != 4;
}
