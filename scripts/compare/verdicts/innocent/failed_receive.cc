// A thread receives into an array that another one fills, but the socket has never been connected (ENOTCONN), and the directory that it reads is none to read from (EISDIR): neither call touches the array.
#include "turns.h"
#include <array>
#include <fcntl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

int main() {
	auto *text = new std::array<char, 100>{};
	int unconnected = socket(AF_INET, SOCK_STREAM, 0), directory = open("/", O_RDONLY);
	std::thread fills([&] { text->fill('y'); });
	std::thread fails([&] {
		rest(200);
		need(recv(unconnected, text->data(), text->size(), 0) < 0, "recv");
		need(read(directory, text->data(), text->size()) < 0, "read");
	});
	fills.join();
	fails.join();
	bool kept = text->back() == 'y';
	delete text;
	return !kept;
}
