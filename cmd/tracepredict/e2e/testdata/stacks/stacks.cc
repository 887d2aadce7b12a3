// A mutex taken below the C++ library's callbacks, without frame pointers.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#define FRAME __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory") // no tail calls

static std::mutex m;
static std::once_flag once;

static FRAME void touch()
{
	std::lock_guard<std::mutex> g(m);
	KEEP;
}

static FRAME bool below(int x, int y)
{
	touch();
	return x < y;
}

static FRAME void sorted()
{
	int numbers[] = {3, 1, 2};
	std::sort(numbers, numbers + 3, below);
	KEEP;
	std::printf("%d\n", numbers[0]);
}

static FRAME void only() { touch(); KEEP; }

static FRAME void thrower()
{
	try {
		std::function<void()> f = [] { touch(); throw 1; };
		f();
	} catch (int) {
		touch();
	}
}

int main()
{
	std::thread t([] { std::call_once(once, only); });
	t.join();
	sorted();
	thrower();
}
