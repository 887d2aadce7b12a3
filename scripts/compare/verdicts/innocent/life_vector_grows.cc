// A vector of connections is moved to other memory by push_back, and its old memory is used again; each element is only touched under the vector's lock.
// watch: bytes of struct Conn
#include "turns.h"
#include <mutex>
#include <thread>
#include <vector>

struct Conn {
	long bytes;
	char name[200];
};

static std::mutex lock;
static std::vector<Conn> conns;

int main() {
	auto adds = [] {
		for (int i = 0; i < 6; i++, rest(2)) {
			std::lock_guard<std::mutex> l(lock);
			conns.push_back(Conn{i, ""});
			for (Conn &c : conns)
				c.bytes++;
		}
	};
	std::thread a(adds), b(adds);
	a.join();
	b.join();
	return conns.size() != 12;
}
