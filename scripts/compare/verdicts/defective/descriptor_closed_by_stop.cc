// A receiver takes the socket out of its object under a lock and reads from it outside; stop closes the socket in a section of its own, in the run after the receiver had gone on to other things.
//
// expect: race
#include <mutex>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "fortune.h"

class Receiver {
	std::mutex lock;
	int socket = -1;

public:
	void start(int fd) {
		std::lock_guard<std::mutex> l(lock);
		socket = fd;
	}
	int current() {
		std::lock_guard<std::mutex> l(lock);
		return socket;
	}
	long receive() {
		char byte;
		int fd = current();
		chance();
		return fd < 0 ? 0 : recv(fd, &byte, 1, 0);
	}
	void stop() {
		std::lock_guard<std::mutex> l(lock);
		if (socket >= 0)
			close(socket);
		socket = -1;
	}
};

int main() {
	int ends[2];
	Receiver r;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || write(ends[1], "xy", 2) != 2)
		return 1;
	r.start(ends[0]);
	std::thread receives([&] { r.receive(); });
	std::thread stops([&] {
		later(1);
		r.stop();
	});
	receives.join();
	stops.join();
	close(ends[1]);
}
