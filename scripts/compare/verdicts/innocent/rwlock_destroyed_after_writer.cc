// A document's lock is destroyed by who had it last for writing, after all readers have counted themselves out, which they do when they have let go of it.
#include "turns.h"
#include <atomic>
#include <pthread.h>
#include <thread>

struct Document {
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	std::atomic<int> readers{1};
	long words = 100;
};

static Document document;

int main() {
	std::thread reads([] {
		pthread_rwlock_rdlock(&document.lock);
		long words = document.words;
		pthread_rwlock_unlock(&document.lock);
		document.readers -= words > 0;
	});
	rest(200);
	while (document.readers)
		rest(1);
	pthread_rwlock_wrlock(&document.lock);
	document.words = 0;
	pthread_rwlock_unlock(&document.lock);
	pthread_rwlock_destroy(&document.lock);
	reads.join();
}
