// A parent and a child in a tree lock each other's mutexes, found by weak_ptr and shared_ptr: the
// parent locks itself and then its child, the child itself and then its parent.
//
// expect: deadlock
#include <memory>
#include <mutex>
#include <thread>

#include "fortune.h"

struct Node {
	std::mutex lock;
	std::weak_ptr<Node> parent;
	std::shared_ptr<Node> child;
	int size = 0;
	void resize() {
		std::lock_guard mine(lock);
		chance();
		std::lock_guard theirs(child->lock);
		child->size = size / 2;
	}
	void changed() {
		std::lock_guard mine(lock);
		chance();
		if (auto up = parent.lock()) {
			std::lock_guard theirs(up->lock);
			up->size = size * 2;
		}
	}
};

int main() {
	auto window = std::make_shared<Node>(), button = std::make_shared<Node>();
	window->child = button;
	button->parent = window;
	std::thread t([=] { window->resize(); });
	std::thread u([=] {
		later(1);
		button->changed();
	});
	t.join();
	u.join();
}
