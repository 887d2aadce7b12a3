// Threads try with time limits to share a std::shared_timed_mutex or to have it alone, in both orders with another lock, but who does not get it in time lets go of everything.
// watch: rows
// build: -O2
#include "turns.h"
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;
static std::shared_timed_mutex table;
static std::recursive_timed_mutex journal;
static long rows;

static void reads() {
	for (int done = 0; done < 4;) {
		if (!table.try_lock_shared_for(5ms))
			continue;
		if (journal.try_lock_for(1ms)) {
			need(rows >= 0, "rows");
			done++;
			journal.unlock();
		}
		table.unlock_shared();
		rest(1);
	}
}

static void writes() {
	for (int done = 0; done < 4;) {
		std::unique_lock<std::recursive_timed_mutex> j(journal, 2ms);
		if (!j)
			continue;
		std::lock_guard<std::recursive_timed_mutex> again(journal);
		std::unique_lock<std::shared_timed_mutex> t(table, 1ms);
		if (t) {
			rows++;
			done++;
		}
	}
}

int main() {
	std::thread t(reads), u(writes);
	t.join();
	u.join();
	return rows != 4;
}
