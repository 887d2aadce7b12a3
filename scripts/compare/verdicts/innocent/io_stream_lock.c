// Two threads change a plain variable under no mutex, but both hold the lock of stdout by flockfile.
// watch: lines
#include "turns.h"

static long lines;

static void *prints(void *unused) {
	for (int i = 0; i < 4; i++) {
		flockfile(stdout);
		lines++;
		putchar_unlocked('.');
		funlockfile(stdout);
		rest(4);
	}
	return unused;
}

int main(void) {
	both(prints, prints);
	return lines != 8;
}
