// Neither thread is joined by name, but std::async's future is awaited between the halves, and the second is deferred: it runs in main itself.
// watch: data
#include "halves.h"
#include <future>

int main() {
	std::future<void> first = std::async(std::launch::async, early);
	std::future<void> second = std::async(std::launch::deferred, late);
	rest(10);
	first.get();
	second.get();
	return data != 42;
}
