// Each of two owners of a native thread joins it when it closes: nothing says which one is to.
//
// expect: misuse
#include <pthread.h>
#include <thread>

#include "fortune.h"

struct Owner {
	pthread_t worker;
	explicit Owner(pthread_t w) : worker(w) {}
	~Owner() { pthread_join(worker, nullptr); }
};

static void *works(void *unused) {
	later(1);
	return unused;
}

int main() {
	pthread_t worker;
	pthread_create(&worker, nullptr, works, nullptr);
	std::thread other([=] { Owner second(worker); });
	later(8);
	{ Owner first(worker); }
	other.join();
}
