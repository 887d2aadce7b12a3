// A door is notified before it is opened and after: the first notification wakes for nothing, the second is never missed.
#include "turns.h"
#include <atomic>
#include <thread>

struct Door {
	std::atomic<bool> open{false};
	long key = 0;

	void pass() {
		open.wait(false);
		key++;
	}
	void unlock() {
		key = 1;
		open.notify_all();
		open.store(true);
		open.notify_all();
	}
};

int main() {
	Door *door = new Door;
	std::thread keeper([=] { door->unlock(); });
	rest(200);
	door->pass();
	keeper.join();
	bool bad = door->key != 2;
	delete door;
	return bad;
}
