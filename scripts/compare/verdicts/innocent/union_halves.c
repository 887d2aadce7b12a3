// Two threads change different halves of a static union, which are different bytes; main reads the whole after both ended.
// watch: shared
#include "turns.h"

static union {
	short half[2];
	int whole;
} counts;

static struct {
	char first, second;
	union {
		int number[2];
		long long word;
	} both;
} pair;

static void *lower(void *unused) {
	for (int i = 0; i < 20; i++) {
		counts.half[0] += 2;
		pair.first++;
		pair.both.number[0]++;
		rest(1);
	}
	return unused;
}

static void *upper(void *unused) {
	for (int i = 0; i < 20; i++) {
		counts.half[1] += 3;
		pair.second++;
		pair.both.number[1]++;
		rest(1);
	}
	return unused;
}

int main(void) {
	both(lower, upper);
	return counts.whole == 0 || pair.both.word == 0;
}
