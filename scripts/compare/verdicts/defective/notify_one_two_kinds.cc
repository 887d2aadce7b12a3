// Readers and a writer of a mailbox wait on one condition variable, and each of them is told by notify_one: it may wake
// one whose predicate is not true, and the right one sleeps on.
//
// expect: deadlock
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

class Mailbox {
	std::mutex lock_;
	std::condition_variable changed_;
	bool letter_ = false, parcel_ = false;

public:
	void read_letter() {
		std::unique_lock l(lock_);
		changed_.wait(l, [this] { return letter_; });
	}
	void read_parcel() {
		std::unique_lock l(lock_);
		changed_.wait(l, [this] { return parcel_; });
	}
	void put_letter() {
		std::lock_guard l(lock_);
		letter_ = true;
		changed_.notify_one();
	}
	void put_parcel() {
		std::lock_guard l(lock_);
		parcel_ = true;
		changed_.notify_one();
	}
};

int main() {
	Mailbox box;
	std::thread letters([&] { box.read_letter(); });
	std::thread parcels([&] {
		later(5);
		box.read_parcel();
	});
	later(10);
	box.put_letter();
	later(5);
	box.put_parcel();
	letters.join();
	parcels.join();
}
