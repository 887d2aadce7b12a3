// Opposite orders: both threads add to an atomic counter in a structure on the heap, whose value is
// only printed in the end and keeps nobody waiting.
//
// expect: deadlock mains backup
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include "fortune.h"

struct Meter {
	std::atomic<long> drawn{0};
};

static std::mutex mains, backup;

static void charge(Meter *meter) {
	std::lock_guard outer(mains);
	meter->drawn.fetch_add(5);
	chance();
	std::lock_guard inner(backup);
}

static void discharge(Meter *meter) {
	later(1);
	std::lock_guard outer(backup);
	meter->drawn.fetch_add(3);
	chance();
	std::lock_guard inner(mains);
}

int main() {
	auto meter = std::make_unique<Meter>();
	std::thread in(charge, meter.get()), out(discharge, meter.get());
	in.join();
	out.join();
	std::printf("%ld\n", meter->drawn.load());
}
