// A tally on main's stack is passed by reference to two threads, which add to it without a lock.
//
// expect: race votes
// watch: votes of Tally
#include <functional>
#include <thread>

#include "fortune.h"

struct Tally {
	int votes = 0;
	int invalid = 0;
};

static void count(Tally &tally, int step) {
	later(step);
	tally.votes += 2;
}

int main() {
	Tally tally;
	std::thread t(count, std::ref(tally), 0), u(count, std::ref(tally), 1);
	t.join();
	u.join();
	return tally.votes != 4;
}
