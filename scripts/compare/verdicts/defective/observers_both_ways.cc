// A subject calls its observers under its recursive lock, and an observer that goes away locks itself and then takes its name off the subject's list.
//
// expect: deadlock
// build: -O2
#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "fortune.h"

struct observer;

struct subject {
	std::recursive_mutex lock;
	std::vector<observer *> list;
	void notify(int what);
	void remove(observer *o) {
		std::lock_guard<std::recursive_mutex> l(lock);
		list.erase(std::remove(list.begin(), list.end(), o), list.end());
	}
};

struct observer {
	subject &from;
	std::mutex lock;
	int sum = 0;
	explicit observer(subject &s) : from(s) { s.list.push_back(this); }
	void update(int what) {
		std::lock_guard<std::mutex> l(lock);
		sum += what;
	}
	void close() {
		std::lock_guard<std::mutex> l(lock);
		sum = -sum;
		chance();
		from.remove(this);
	}
};

void subject::notify(int what) {
	std::lock_guard<std::recursive_mutex> l(lock);
	chance();
	for (auto o : list)
		o->update(what);
}

int main() {
	subject s;
	observer o(s);
	std::thread t([&] { s.notify(5); });
	std::thread u([&] {
		later(1);
		o.close();
	});
	t.join();
	u.join();
	return o.sum != -5;
}
