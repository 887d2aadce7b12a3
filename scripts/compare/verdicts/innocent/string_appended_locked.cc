// Two threads append to one std::string under a mutex, and a third looks at its own copy, made under it.
#include "turns.h"
#include <mutex>
#include <string>
#include <thread>

static std::string journal;
static std::mutex lock;

static void append(const char *text) {
	for (int i = 0; i < 10; i++) {
		std::lock_guard l(lock);
		journal += text;
	}
}

int main() {
	std::size_t seen = 0;
	std::thread first(append, "first "), second(append, "second ");
	std::thread third([&] {
		rest(100);
		std::string copy;
		{
			std::lock_guard l(lock);
			copy = journal;
		}
		copy += "!";
		seen = copy.size();
	});
	first.join();
	second.join();
	third.join();
	return seen > 131;
}
