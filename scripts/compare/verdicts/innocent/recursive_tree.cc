// A node's callback calls the tree again under the tree's lock, and another lock lies inside it, but the tree's lock is recursive and every path takes it before the other.
// watch: visits, logged
#include "turns.h"
#include <functional>
#include <mutex>
#include <thread>

static std::recursive_mutex tree;
static std::mutex journal;
static long visits, logged;

static void log() {
	std::lock_guard<std::mutex> l(journal);
	logged++;
}

static void visit(int depth, const std::function<void(int)> &f) {
	std::lock_guard<std::recursive_mutex> l(tree);
	visits++;
	f(depth);
	if (depth)
		visit(depth - 1, f);
}

static void down() {
	visit(3, [](int d) {
		log();
		if (d == 1)
			visit(1, [](int) { log(); });
	});
}

int main() {
	std::thread t(down), u(down);
	t.join();
	u.join();
	log();
	return visits != 12 || logged != 13;
}
