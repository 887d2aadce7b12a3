// One thread prints times by ctime, another by asctime: both get the same text of the C library.
//
// expect: race
#include <ctime>
#include <string>
#include <thread>

#include "fortune.h"

int main() {
	std::string one, two;
	std::thread first([&] {
		time_t at = 86400;
		const char *text = ctime(&at);
		chance();
		one = text;
	});
	std::thread second([&] {
		later(5);
		tm parts{};
		parts.tm_mday = 3;
		const char *text = asctime(&parts);
		chance();
		two = text;
	});
	first.join();
	second.join();
	return one.empty() || two.empty();
}
