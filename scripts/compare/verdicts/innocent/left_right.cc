// Readers read one of two copies under no lock while the writer changes the other and then the first, but the writer waits in between until nobody reads the copy it is going to change.
// watch: shared
#include "turns.h"
#include <atomic>
#include <mutex>
#include <thread>

static long left_copy = 1, right_copy = 1;
static std::atomic<int> side{0}, version{0};
static std::atomic<int> readers[2];
static std::mutex writers;

static long read_value() {
	int v = version.load();
	readers[v].fetch_add(1);
	long n = side.load() ? right_copy : left_copy;
	readers[v].fetch_sub(1);
	return n;
}

static void wait_for(int v) {
	while (readers[v].load())
		std::this_thread::yield();
}

static void write_value(long n) {
	std::lock_guard<std::mutex> l(writers);
	int s = side.load();
	(s ? left_copy : right_copy) = n;
	side.store(!s);
	int v = version.load();
	wait_for(!v);
	version.store(!v);
	wait_for(v);
	(s ? right_copy : left_copy) = n;
}

int main() {
	std::thread r([] { for (int i = 0; i < 10; i++) { need(read_value() > 0, "value"); rest(1); } });
	std::thread s([] { for (int i = 0; i < 10; i++) { need(read_value() > 0, "value"); rest(1); } });
	std::thread w([] { for (long i = 2; i < 8; i++) { write_value(i); rest(1); } });
	std::thread x([] { for (long i = 2; i < 5; i++) { write_value(i); rest(2); } });
	r.join();
	s.join();
	w.join();
	x.join();
	return read_value() < 4;
}
