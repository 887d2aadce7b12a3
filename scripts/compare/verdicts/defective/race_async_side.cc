// A task of std::async stores its progress in a variable besides its result, which main reads
// before it asks for the result.
//
// expect: race progress
// watch: progress
#include <future>

#include "fortune.h"

static int progress;

static int work() {
	chance();
	progress = 100;
	return 1;
}

int main() {
	auto result = std::async(std::launch::async, work);
	later(1);
	int shown = progress;
	return result.get() != 1 || shown != 100;
}
