// Opposite orders, each under the gate of its own object: the gates are of one class and one source
// line, but two locks.
//
// expect: deadlock
#include <memory>
#include <mutex>
#include <thread>

#include "fortune.h"

struct Desk {
	std::mutex gate;
	int moves = 0;
	void move(std::mutex &from, std::mutex &to) {
		std::lock_guard entered(gate);
		std::lock_guard outer(from);
		chance();
		std::lock_guard inner(to);
		moves++;
	}
};

static std::mutex paper, ink;

int main() {
	auto one = std::make_unique<Desk>(), two = std::make_unique<Desk>();
	std::thread t([&] { one->move(paper, ink); });
	std::thread u([&] {
		later(1);
		two->move(ink, paper);
	});
	t.join();
	u.join();
	return one->moves + two->moves != 2;
}
