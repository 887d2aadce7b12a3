// An atomic_flag in an object on the heap is waited for by its wait, in a method, and set by another thread through a shared_ptr.
// watch: data
#include "halves.h"
#include <atomic>
#include <memory>
#include <thread>

class Event {
	std::atomic_flag set_;

public:
	void set() {
		set_.test_and_set();
		set_.notify_one();
	}
	void wait() const { set_.wait(false); }
};

int main() {
	auto event = std::make_shared<Event>();
	std::thread second([event] {
		event->wait();
		late();
	});
	early();
	rest(10);
	event->set();
	second.join();
	return data != 42;
}
