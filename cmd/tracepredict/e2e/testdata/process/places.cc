// A value and a tally are handed over by an atomic flag on the heap; with LATE, the tally is changed after that.
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

struct slot {
	std::atomic<bool> full{false};
	int value = 0;
};

static int tally;

int main()
{
	auto s = std::make_unique<slot>();
	std::thread t([p = s.get()] {
#ifndef LATE
		tally++;
#endif
		p->value = 7;
		p->full.store(true);
#ifdef LATE
		tally++;
#endif
	});
	while (!s->full.load())
		std::this_thread::yield();
	tally++;
	std::printf("value %d, tally %d\n", s->value, tally);
	t.join();
}
