// Several threads read under no lock what one of them wrote, but it wrote it in std::call_once, which all went through.
// watch: limit, table[2]
#include "turns.h"
#include <mutex>
#include <thread>

static std::once_flag once;
static int limit, table[4];

static void uses() {
	std::call_once(once, [] {
		limit = 4;
		for (int i = 0; i < limit; i++)
			table[i] = i * i;
	});
	need(limit == 4 && table[2] == 4, "initialised");
}

int main() {
	std::thread a(uses), b([] {
		rest(10);
		uses();
	});
	a.join();
	b.join();
}
