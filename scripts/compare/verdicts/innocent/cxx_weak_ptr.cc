// The cache's thread uses an object that its owner may drop at any moment, but it holds a weak_ptr and locks that: it has the object, or nothing.
// watch: size of struct Entry
#include "turns.h"
#include <atomic>
#include <memory>
#include <thread>

struct Entry {
	std::atomic<long> uses{0};
	long size = 5;
	~Entry() { size = 0; }
};

int main() {
	auto owner = std::make_shared<Entry>();
	std::weak_ptr<Entry> known = owner;
	std::thread cache([known] {
		for (int i = 0; i < 20; i++, rest(1))
			if (std::shared_ptr<Entry> e = known.lock()) {
				e->uses++;
				need(e->size == 5, "size");
			}
	});
	rest(8);
	owner.reset();
	cache.join();
}
