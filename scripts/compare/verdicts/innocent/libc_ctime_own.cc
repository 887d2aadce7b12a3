// One thread prints times by ctime_r, another by strftime, each into its own text; main asks ctime after it has joined them.
#include "turns.h"
#include <ctime>
#include <string>
#include <thread>

int main() {
	char one[32] = "", two[32] = "";
	std::thread first([&] {
		time_t at = 86400;
		ctime_r(&at, one);
	});
	std::thread second([&] {
		rest(200);
		tm parts{};
		parts.tm_mday = 3;
		strftime(two, sizeof two, "%d %B", &parts);
	});
	first.join();
	second.join();
	time_t at = 5;
	return !one[0] || !two[0] || std::string(ctime(&at)).empty();
}
