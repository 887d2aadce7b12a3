// A static string is assigned under the lock of the names and read under the lock of the log.
//
// expect: race motto._M_string_length
// watch: motto._M_string_length
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "fortune.h"

static std::mutex names, log_lock;
static std::string motto = "short";

static void rename_it() {
	std::lock_guard<std::mutex> l(names);
	motto = "a motto that does not fit into the object itself";
	chance();
}

static void log_it() {
	std::lock_guard<std::mutex> l(log_lock);
	std::cout << motto.size() << '\n';
}

int main() {
	std::thread t(rename_it);
	std::thread u([] {
		later(1);
		log_it();
	});
	t.join();
	u.join();
	return motto.size() == 5;
}
