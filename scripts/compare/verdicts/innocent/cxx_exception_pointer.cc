// The message of an exception is written in one thread and read in another under no lock, but exception_ptr is passed through a joined thread.
// watch: data
#include "halves.h"
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

int main() {
	std::exception_ptr caught;
	std::thread first([&] {
		try {
			early();
			throw std::runtime_error("forty-one");
		} catch (...) {
			caught = std::current_exception();
		}
	});
	first.join();
	std::thread second([&] {
		try {
			std::rethrow_exception(caught);
		} catch (const std::runtime_error &e) {
			if (std::string(e.what()) == "forty-one")
				late();
		}
	});
	second.join();
	return data != 42;
}
