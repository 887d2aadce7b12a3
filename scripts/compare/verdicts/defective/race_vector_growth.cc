// Two threads append to one vector without a lock: each writes the vector's end, and either may let
// it grow.
//
// expect: race
// watch: lines._M_impl._M_finish
#include <thread>
#include <vector>

#include "fortune.h"

static std::vector<int> lines;

static void append(int step) {
	later(step);
	for (int i = 0; i < 5; i++)
		lines.push_back(i);
}

int main() {
	std::thread t(append, 0), u(append, 1);
	t.join();
	u.join();
	return lines.size() != 10;
}
