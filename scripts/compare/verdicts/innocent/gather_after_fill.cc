// A frame of two buffers is written by one writev; another thread changes the part of the buffer that is not sent, and the next body only once the sender has said by a pipe that it is through.
#include "turns.h"
#include <cstring>
#include <fcntl.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

static char body[64];

int main() {
	int fd = open("/dev/null", O_WRONLY), through[2];
	need(!pipe(through), "pipe");
	std::thread sends([&] {
		long header = 32;
		iovec parts[2] = {{&header, sizeof header}, {body, 32}};
		need(writev(fd, parts, 2) >= 0, "writev");
		need(write(through[1], "x", 1) == 1, "write");
	});
	std::thread fills([&] {
		char byte;
		rest(40);
		memset(body + 32, 'n', 32);
		need(read(through[0], &byte, 1) == 1, "read");
		memset(body, 'n', 32);
	});
	sends.join();
	fills.join();
	close(fd);
}
