// A reader that wants to write unlocks the shared lock before it locks it exclusively, and between the two another may write, but it looks again at what it decided by.
// watch: hits
#include "turns.h"
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

static std::shared_mutex guard;
static std::map<std::string, int> known;
static long hits;

static int intern(const std::string &s) {
	{
		std::shared_lock<std::shared_mutex> l(guard);
		auto i = known.find(s);
		if (i != known.end())
			return i->second;
	}
	std::unique_lock<std::shared_mutex> l(guard);
	hits++;
	auto [i, made] = known.try_emplace(s, (int)known.size());
	return i->second;
}

static void uses() {
	static const char *words[] = {"a", "b", "c"};
	for (int i = 0; i < 9; i++) {
		need(intern(words[i % 3]) < 3, "word");
		rest(1);
	}
}

int main() {
	std::thread t(uses), u(uses);
	t.join();
	u.join();
	return known.size() != 3 || hits < 3;
}
