// A large settings object is assigned whole, by rep movs, without the lock under which another thread changes one member.
//
// expect: race
// build: -mmemcpy-strategy=rep_8byte:-1:noalign
#include <mutex>
#include <thread>

#include "fortune.h"

struct Settings {
	long values[40];
	double scale;
};

static Settings live;
static std::mutex lock;

int main() {
	Settings *copy = new Settings;
	std::thread changes([] {
		std::lock_guard l(lock);
		chance();
		live.values[17] = 4;
	});
	std::thread copies([=] {
		later(5);
		*copy = live;
	});
	changes.join();
	copies.join();
	bool bad = copy->values[17] > 4;
	delete copy;
	return bad;
}
