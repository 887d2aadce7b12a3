// A socket belongs to an object that several threads share by shared_ptr under no lock, and whose destructor closes it: that runs in whichever thread drops the last reference.
#include "turns.h"
#include <memory>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

struct Socket {
	int fd;
	explicit Socket(int fd) : fd(fd) {}
	~Socket() { close(fd); }
	void say() { need(write(fd, "x", 1) == 1, "write"); }
};

int main() {
	int ends[2];
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	auto shared = std::make_shared<Socket>(ends[0]);
	std::thread one([shared]() mutable {
		shared->say();
		shared.reset();
	});
	std::thread two([shared]() mutable {
		rest(40);
		shared->say();
		shared.reset();
	});
	shared.reset();
	one.join();
	two.join();
	close(ends[1]);
}
