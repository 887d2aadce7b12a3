// Who writes a document counts itself out before it lets go of its write lock, and who finds nobody left destroys the lock.
//
// expect: misuse
// expect: race
#include <atomic>
#include <pthread.h>
#include <thread>

#include "fortune.h"

struct Document {
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	std::atomic<int> users{1};
	long words = 100;
};

static Document document;

int main() {
	std::thread writes([] {
		pthread_rwlock_wrlock(&document.lock);
		long words = ++document.words;
		document.users -= words > 0;
		chance();
		pthread_rwlock_unlock(&document.lock);
	});
	later(5);
	while (document.users)
		nanoseconds(1000000);
	pthread_rwlock_destroy(&document.lock);
	writes.join();
}
