// The spin lock is inline assembly, an xchg with a memory clobber, which no type or built-in shows; it orders as a full barrier.
// watch: total
#include "turns.h"

static volatile int word;
static long total;

static int taken(volatile int *w) {
	int v = 1;
	__asm__ volatile("xchg %0, %1" : "+r"(v), "+m"(*w) : : "memory");
	return v;
}

static void *adds(void *unused) {
	for (int i = 0; i < 4; i++) {
		while (taken(&word))
			rest(1);
		total++;
		__asm__ volatile("movl $0, %0" : "=m"(word) : : "memory");
		rest(2);
	}
	return unused;
}

int main(void) {
	both(adds, adds);
	return total != 8;
}
