// A thread receives a message into an array that another one fills under no lock.
//
// expect: race _M_elems
#include <array>
#include <sys/socket.h>
#include <thread>

#include "fortune.h"

static std::array<char, 100> text;

int main() {
	int ends[2];
	char message[100] = "message";
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || send(ends[0], message, sizeof message, 0) < 0)
		return 1;
	std::thread fills([&] {
		chance();
		text.fill('y');
	});
	std::thread receives([&] {
		later(5);
		if (recv(ends[1], text.data(), text.size(), 0) < 0)
			std::terminate();
	});
	fills.join();
	receives.join();
}
