// Two threads write neighbouring bytes of one word under no lock, but each byte is a memory location of its own, and each has one thread.
// watch: shared
#include "turns.h"

static struct { char mine, yours; short ours; } word;

static void *writes_mine(void *unused) {
	for (int i = 0; i < 5; i++, rest(1))
		word.mine++;
	return unused;
}

static void *writes_yours(void *unused) {
	for (int i = 0; i < 5; i++, rest(1))
		word.yours++;
	return unused;
}

int main(void) {
	both(writes_mine, writes_yours);
	return word.mine + word.yours != 10;
}
