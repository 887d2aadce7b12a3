// The second thread looks at an atomic member of an object by a virtual function, now and then between other work, and
// goes on once it sees what the first thread has stored there.
// watch: data
#include "halves.h"
#include <atomic>
#include <memory>
#include <thread>

struct Source {
	virtual ~Source() = default;
	virtual bool ready() = 0;
	virtual void publish() = 0;
};

struct Flag : Source {
	std::atomic<bool> set{false};
	bool ready() override { return set.load(std::memory_order_acquire); }
	void publish() override { set.store(true, std::memory_order_release); }
};

int main() {
	std::unique_ptr<Source> source = std::make_unique<Flag>();
	std::thread a([&] {
		early();
		source->publish();
	});
	std::thread b([&] {
		for (int i = 0; i < 100; i++) {
			if (source->ready()) {
				late();
				break;
			}
			rest(1);
		}
	});
	a.join();
	b.join();
}
