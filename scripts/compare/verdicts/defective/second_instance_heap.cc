// Three pairs of nodes on the heap are linked by the same two functions: of the first two pairs
// main makes one order alone and joins the other's thread before the next; only of the last pair
// two threads make both at once.
//
// expect: deadlock
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fortune.h"

struct Node {
	std::mutex lock;
	Node *peer = nullptr;
};

[[gnu::noinline]] static void link(Node &a, Node &b) {
	std::lock_guard outer(a.lock);
	chance();
	std::lock_guard inner(b.lock);
	a.peer = &b;
}

[[gnu::noinline]] static void unlink(Node &a, Node &b) {
	std::lock_guard outer(b.lock);
	chance();
	std::lock_guard inner(a.lock);
	a.peer = nullptr;
}

int main() {
	std::vector<std::unique_ptr<Node>> nodes;
	for (int i = 0; i < 6; i++)
		nodes.push_back(std::make_unique<Node>());
	for (int i = 0; i < 4; i += 2) {
		std::thread([&] { link(*nodes[i], *nodes[i + 1]); }).join();
		std::thread([&] { unlink(*nodes[i], *nodes[i + 1]); }).join();
	}
	std::thread t([&] { link(*nodes[4], *nodes[5]); });
	std::thread u([&] {
		later(1);
		unlink(*nodes[4], *nodes[5]);
	});
	t.join();
	u.join();
}
