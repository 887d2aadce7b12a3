// A reader of the map takes the mutex of an entry, and who has an entry's mutex wants the map exclusively.
//
// expect: deadlock
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "fortune.h"

struct session {
	std::mutex lock;
	int uses = 0;
};

static std::shared_mutex map_lock;
static std::map<int, session> sessions;

static void touch(int id) {
	std::shared_lock<std::shared_mutex> m(map_lock);
	auto &s = sessions.at(id);
	chance();
	std::lock_guard<std::mutex> l(s.lock);
	s.uses++;
}

static void expire(int id) {
	session *s;
	{
		std::shared_lock<std::shared_mutex> m(map_lock);
		s = &sessions.at(id);
	}
	std::unique_lock<std::mutex> l(s->lock);
	if (s->uses > 0) {
		chance();
		std::unique_lock<std::shared_mutex> m(map_lock);
		sessions[id + 100].uses = s->uses;
	}
}

int main() {
	sessions[1].uses = 1;
	std::thread t([] { touch(1); });
	std::thread u([] {
		later(1);
		expire(1);
	});
	t.join();
	u.join();
	return sessions.size() != 2;
}
