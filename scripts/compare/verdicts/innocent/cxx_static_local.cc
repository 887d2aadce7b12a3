// Two threads read the members of a static local object under no lock, but the first one to come constructs it, and the others wait for its guard.
// watch: uses
#include "turns.h"
#include <atomic>
#include <thread>

struct Registry {
	long size, limit;
	Registry() : size(3) {
		rest(10);
		limit = 4;
	}
};

static std::atomic<long> uses;

static Registry &registry() {
	static Registry r;
	return r;
}

int main() {
	auto looks = [] {
		need(registry().size + registry().limit == 7, "constructed");
		uses++;
	};
	std::thread a(looks), b(looks);
	a.join();
	b.join();
	return uses != 2;
}
