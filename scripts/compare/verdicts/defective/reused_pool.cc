// Nodes come from the program's own pool and go back to it, and one of two that two threads lock in
// opposite orders was another node before: in this life it is one node for both threads.
//
// expect: deadlock
#include <mutex>
#include <thread>
#include <vector>

#include "fortune.h"

struct Node {
	std::mutex lock;
	int value = 0;
};

static Node storage[4];
static std::mutex pool_lock;
static std::vector<Node *> pool{&storage[0], &storage[1], &storage[2], &storage[3]};

static Node *get() {
	std::lock_guard held(pool_lock);
	Node *node = pool.back();
	pool.pop_back();
	return node;
}

static void put(Node *node) {
	std::lock_guard held(pool_lock);
	pool.push_back(node);
}

static void couple(Node *a, Node *b) {
	std::lock_guard outer(a->lock);
	chance();
	std::lock_guard inner(b->lock);
	a->value += ++b->value;
}

int main() {
	Node *old = get();
	std::thread([=] { std::lock_guard held(old->lock); }).join();
	put(old);
	Node *a = get(), *b = get();
	std::thread t(couple, a, b);
	std::thread u([=] {
		later(1);
		couple(b, a);
	});
	t.join();
	u.join();
	put(a);
	put(b);
}
