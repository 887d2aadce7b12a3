// A frame is written as a header and a body by one writev, under no lock, while another thread puts the next body into the same buffer.
//
// expect: race body
#include <cstring>
#include <fcntl.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

#include "fortune.h"

static char body[48];

int main() {
	int fd = open("/dev/null", O_WRONLY);
	std::thread sends([fd] {
		long header = sizeof body;
		iovec parts[2] = {{&header, sizeof header}, {body, sizeof body}};
		chance();
		if (writev(fd, parts, 2) < 0)
			_exit(1);
	});
	std::thread fills([] {
		later(1);
		memset(body + 16, 'n', 24);
	});
	sends.join();
	fills.join();
	close(fd);
}
