// The first call of call_once fails by an exception and another thread calls it again, but only after the first has left, and what that one wrote is ordered too.
// watch: tries, value
#include "turns.h"
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag once;
static int tries, value;

static void opens() {
	if (++tries == 1)
		throw std::runtime_error("not yet");
	value = 7;
}

static void uses() {
	for (;;)
		try {
			std::call_once(once, opens);
			break;
		} catch (const std::runtime_error &) {
			rest(2);
		}
	need(value == 7, "value");
}

int main() {
	std::thread a(uses), b(uses);
	a.join();
	b.join();
	return tries != 2;
}
