// The flag that orders the halves is an element, by a computed index, of an atomic array in an array of structures.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static struct cell {
	long plain;
	_Atomic short flags[4];
} grid[3][5];

static int row = 2, column = 3;

static void *first(void *unused) {
	early();
	rest(15);
	atomic_store_explicit(&grid[row][column].flags[row], 1, memory_order_release);
	return unused;
}

static void *second(void *unused) {
	while (!atomic_load_explicit(&grid[row][column].flags[row], memory_order_acquire))
		rest(1);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
