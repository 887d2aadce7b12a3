// An object deletes itself within its own section: the unlock of the lock_guard comes after the
// memory is gone.
//
// expect: misuse
#include <mutex>
#include <thread>

#include "fortune.h"

class Ticket {
	long payload_[40] = {};
	std::mutex lock_;
	int references_ = 2;

public:
	void release() {
		std::lock_guard held(lock_);
		payload_[references_] = 1;
		if (--references_ == 0)
			delete this;
	}
};

int main() {
	auto ticket = new Ticket;
	std::thread t([=] { ticket->release(); });
	std::thread u([=] {
		later(1);
		ticket->release();
	});
	t.join();
	u.join();
}
