// A condition_variable_any waits with a lock type of the program's own, which is no mutex to a tool, but whose unlock and lock are those of a shared_mutex.
// watch: open
#include "turns.h"
#include <condition_variable>
#include <shared_mutex>
#include <thread>

static std::shared_mutex door;
static std::condition_variable_any changed;
static bool open;

struct Reader {
	void lock() { door.lock_shared(); }
	void unlock() { door.unlock_shared(); }
};

int main() {
	std::thread waits([] {
		Reader r;
		r.lock();
		while (!open)
			changed.wait(r);
		r.unlock();
	});
	rest(10);
	door.lock();
	open = true;
	door.unlock();
	changed.notify_all();
	waits.join();
}
