// An address and a generation change together by a 16-byte compare-and-swap in inline assembly; who advances the generation owns the plain data.
// watch: data
#include "halves.h"
#include <stdint.h>

struct pair { uint64_t low, high; } __attribute__((aligned(16)));
static struct pair owner;

static int swap(uint64_t low, uint64_t high, uint64_t new_low, uint64_t new_high) {
	char done;
	__asm__ volatile("lock cmpxchg16b %1\n\tsete %0"
	                 : "=q"(done), "+m"(owner), "+a"(low), "+d"(high)
	                 : "b"(new_low), "c"(new_high)
	                 : "memory", "cc");
	return done;
}

static void *first(void *unused) {
	early();
	rest(10);
	swap(0, 0, 7, 1);
	return unused;
}

static void *second(void *unused) {
	while (!swap(7, 1, 7, 2))
		rest(1);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
