// As accesses.c, in C++: what is static in namespaces, classes and functions.
#include <atomic>
#include <cstdio>

enum { DEPTH, LEVEL, READY, CELL, N };
static long reads[N], writes[N];
#define R(x) (reads[x] = reads[x] + 1)
#define W(x) (writes[x] = writes[x] + 1)

namespace shop {
class Queue {
public:
	static volatile int depth;
	__attribute__((noinline)) void put() { R(DEPTH), W(DEPTH), depth = depth + 1; }
	__attribute__((noinline)) void get() { R(DEPTH), W(DEPTH), depth = depth - 1; }
};
volatile int Queue::depth;
volatile double level;
std::atomic<int> ready;
struct Cell { int a; volatile bool set; };
Cell cells[5];
}

__attribute__((noinline)) void mark(int i)
{
	if (i == 4)
		W(CELL);
	shop::cells[i].set = i % 2;
}

int main()
{
	shop::Queue q;
	for (int i = 0; i < 20; i++) {
		q.put();
		if (i % 3)
			q.get();
		W(LEVEL), shop::level = i / 2.0;
		R(READY), W(READY), shop::ready++;
		int expected = i;
		R(READY);
		if (shop::ready.compare_exchange_strong(expected, i))
			W(READY);
		W(READY), shop::ready.store(i, std::memory_order_release);
		R(READY), (void)shop::ready.load();
		mark(i % 5);
	}
	const char *names[N] = {"shop::Queue::depth", "shop::level", "shop::ready", "shop::cells[4].set"};
	for (int i = 0; i < N; i++)
		std::printf("= %s %ld %ld\n", names[i], reads[i], writes[i]);
}
