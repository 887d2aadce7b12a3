// Two owners share a native thread, and it is joined by the deleter of a shared_ptr, which the last of them runs.
#include "turns.h"
#include <memory>
#include <thread>

static void *works(void *unused) {
	rest(100);
	return unused;
}

int main() {
	std::shared_ptr<pthread_t> worker(new pthread_t(start(works, nullptr)), [](pthread_t *t) {
		pthread_join(*t, nullptr);
		delete t;
	});
	std::thread other([worker] { rest(50); });
	worker.reset();
	other.join();
}
