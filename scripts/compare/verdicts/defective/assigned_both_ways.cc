// The assignment locks this and then the other: two threads that assign two objects to each other lock in opposite orders.
//
// expect: deadlock
// build: -O2 -g0
#include <mutex>
#include <string>
#include <thread>

#include "fortune.h"

class document {
	mutable std::mutex lock;
	std::string text;

public:
	explicit document(std::string t) : text(std::move(t)) {}
	document &operator=(const document &other) {
		if (this == &other)
			return *this;
		std::lock_guard<std::mutex> mine(lock);
		chance();
		std::lock_guard<std::mutex> its(other.lock);
		text = other.text;
		return *this;
	}
	size_t size() const {
		std::lock_guard<std::mutex> l(lock);
		return text.size();
	}
};

static document draft("a draft"), published("published");

int main() {
	std::thread t([] { draft = published; });
	std::thread u([] {
		later(1);
		published = draft;
	});
	t.join();
	u.join();
	return draft.size() != published.size();
}
