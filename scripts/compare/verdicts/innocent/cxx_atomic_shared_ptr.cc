// Readers copy a configuration that a writer replaces, both under no lock, but the pointer is a std::atomic<std::shared_ptr>, and each version is never changed.
// watch: limit of struct Config
#include "turns.h"
#include <atomic>
#include <memory>
#include <thread>

struct Config { long limit, twice; };

static std::atomic<std::shared_ptr<const Config>> current;

static void reads() {
	for (int i = 0; i < 10; i++, rest(1)) {
		std::shared_ptr<const Config> c = current.load();
		need(c->limit * 2 == c->twice, "torn");
	}
}

int main() {
	current = std::make_shared<const Config>(1, 2);
	std::thread a(reads), b(reads);
	for (long i = 2; i < 8; i++, rest(2))
		current.store(std::make_shared<const Config>(i, 2 * i));
	a.join();
	b.join();
}
