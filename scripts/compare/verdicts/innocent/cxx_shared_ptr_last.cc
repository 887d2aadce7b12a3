// Two threads write an object under a lock and its destructor reads it under none, but the last owner destroys it, and the counts order the others before.
// watch: hits, at_end
#include "turns.h"
#include <memory>
#include <mutex>
#include <thread>

static std::mutex lock;
static long hits, at_end;

struct Session {
	void hit() {
		std::lock_guard<std::mutex> l(lock);
		hits++;
	}
	~Session() { at_end = hits++; }
};

int main() {
	auto s = std::make_shared<Session>();
	std::thread a([s]() mutable {
		s->hit();
		s.reset();
	});
	std::thread b([s]() mutable {
		rest(10);
		s->hit();
		s.reset();
	});
	s.reset();
	a.join();
	b.join();
	return at_end != 2;
}
