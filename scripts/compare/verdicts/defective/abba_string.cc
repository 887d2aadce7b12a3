// Opposite orders, and in the inner sections strings grow and are printed: the allocator's and the
// stream's own locks order nothing that matters.
//
// expect: deadlock names phones
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "fortune.h"

static std::mutex names, phones;
static std::string name, phone;

static void enter() {
	std::lock_guard outer(names);
	name = std::string(200, 'x');
	std::cout << "entering" << std::endl;
	chance();
	std::lock_guard inner(phones);
	phone += name;
}

static void print() {
	later(1);
	std::lock_guard outer(phones);
	std::ostringstream line;
	line << phone << std::endl;
	std::cout << line.str().size() << std::endl;
	chance();
	std::lock_guard inner(names);
	name += line.str();
}

int main() {
	std::thread t(enter), u(print);
	t.join();
	u.join();
}
