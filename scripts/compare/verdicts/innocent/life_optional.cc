// The locks in a std::optional are nested in opposite orders, but it is emplaced anew, under the outer lock, before the second thread uses it.
// watch: uses of struct Pair
#include "turns.h"
#include <mutex>
#include <optional>
#include <thread>

struct Pair {
	std::mutex a, b;
	long uses = 0;
};

static std::mutex lock;
static std::optional<Pair> pair;

int main() {
	std::thread forth([] {
		std::lock_guard<std::mutex> l(lock);
		pair.emplace();
		std::scoped_lock both_held(pair->a);
		std::lock_guard<std::mutex> second(pair->b);
		pair->uses++;
	});
	std::thread back([] {
		rest(20);
		std::lock_guard<std::mutex> l(lock);
		pair.emplace();
		std::lock_guard<std::mutex> first(pair->b);
		std::lock_guard<std::mutex> second(pair->a);
		pair->uses++;
	});
	forth.join();
	back.join();
}
