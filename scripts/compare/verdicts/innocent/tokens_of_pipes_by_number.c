// Two pipes hold a token each; the threads want them in opposite orders, but always read that of the lower descriptor first.
#include "turns.h"
#include <unistd.h>

static int crane[2], dock[2];
static long used;

static void take(const int *ends) {
	char token;
	need(read(ends[0], &token, 1) == 1, "read");
}

static void give(const int *ends) {
	need(write(ends[1], "t", 1) == 1, "write");
}

static void use(const int *one, const int *two) {
	const int *low = one[0] < two[0] ? one : two, *high = low == one ? two : one;
	take(low);
	take(high);
	used++;
	give(high);
	give(low);
}

static void *unloads(void *unused) {
	use(dock, crane);
	return unused;
}

static void *repairs(void *unused) {
	rest(200);
	use(crane, dock);
	return unused;
}

int main(void) {
	need(!pipe(crane) && !pipe(dock), "pipe");
	give(crane);
	give(dock);
	both(unloads, repairs);
	return used != 2;
}
