// Opposite orders, where one thread leaves both sections by an exception and takes the locks again,
// in the same order as before, when it tries again.
//
// expect: deadlock disk network
#include <mutex>
#include <stdexcept>
#include <thread>

#include "fortune.h"

static std::mutex disk, network;
static int tries, saved;

static void fetch() {
	std::unique_lock outer(network);
	chance();
	std::unique_lock inner(disk);
	if (++tries < 2)
		throw std::runtime_error("no answer");
	saved++;
}

static void fetch_again() {
	for (;;)
		try {
			return fetch();
		} catch (const std::runtime_error &) {
		}
}

static void flush() {
	later(1);
	std::unique_lock outer(disk);
	chance();
	std::unique_lock inner(network);
	saved++;
}

int main() {
	std::thread t(fetch_again), u(flush);
	t.join();
	u.join();
	return saved != 2;
}
