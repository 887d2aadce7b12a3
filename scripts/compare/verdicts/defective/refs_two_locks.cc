// References are taken under the cache's lock and dropped under the object's: the count is changed by both at once.
//
// expect: race refs
// watch: refs of blob
#include <map>
#include <mutex>
#include <thread>

#include "fortune.h"

struct blob {
	std::mutex lock;
	int refs = 1;
};

static std::mutex cache_lock;
static std::map<int, blob *> cache;

static blob *acquire(int key) {
	std::lock_guard<std::mutex> l(cache_lock);
	blob *b = cache.at(key);
	b->refs++;
	chance();
	return b;
}

static void release(blob *b) {
	std::lock_guard<std::mutex> l(b->lock);
	b->refs--;
}

int main() {
	cache[1] = new blob;
	std::thread t([] {
		blob *b = acquire(1);
		chance();
		release(b);
	});
	std::thread u([] {
		later(1);
		blob *b = acquire(1);
		release(b);
	});
	t.join();
	u.join();
	int left = cache[1]->refs;
	delete cache[1];
	return left != 1;
}
