// A mutex type is locked twice, in opposite orders and never waited for, but its lock does nothing: the objects belong to one thread each.
// watch: uses of struct Table<NoMutex>
#include "turns.h"
#include <mutex>
#include <thread>

struct NoMutex {
	void lock() {}
	void unlock() {}
	bool try_lock() { return true; }
};

template <class Mutex> struct Table {
	Mutex rows, columns;
	long uses = 0;
	void forth() {
		std::lock_guard<Mutex> a(rows);
		std::lock_guard<Mutex> b(columns);
		uses++;
	}
	void back() {
		std::lock_guard<Mutex> a(columns);
		std::lock_guard<Mutex> b(rows);
		uses++;
	}
};

int main() {
	auto works = [] {
		Table<NoMutex> own;
		own.forth();
		own.back();
		need(own.uses == 2, "uses");
	};
	std::thread a(works), b(works);
	a.join();
	b.join();
}
