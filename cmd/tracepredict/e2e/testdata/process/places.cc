// A value and a tally are handed over by an atomic flag on the heap.
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
		tally++;
		p->value = 7;
		p->full.store(true);
	});
	while (!s->full.load())
		std::this_thread::yield();
	tally++;
	std::printf("value %d, tally %d\n", s->value, tally);
	t.join();
}
