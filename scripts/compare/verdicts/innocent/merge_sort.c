// Threads write one array under no lock and read what others wrote, but each has a slice of its own and a parent joins its child before it merges.
// watch: shared
// build: -O2
#include "turns.h"
#include <string.h>

enum { N = 64 };
static int numbers[N], scratch[N];
struct slice { int from, to, depth; };

static void *sort(void *p) {
	struct slice s = *(struct slice *)p;
	int n = s.to - s.from;
	if (n < 2)
		return NULL;
	int middle = s.from + n / 2;
	struct slice low = {s.from, middle, s.depth + 1}, high = {middle, s.to, s.depth + 1};
	if (s.depth < 2) {
		pthread_t t = start(sort, &low);
		sort(&high);
		pthread_join(t, NULL);
	} else {
		sort(&low);
		sort(&high);
	}
	for (int i = s.from, a = s.from, b = middle; i < s.to; i++)
		scratch[i] = b >= s.to || (a < middle && numbers[a] <= numbers[b]) ? numbers[a++] : numbers[b++];
	for (int i = s.from; i < s.to; i++)
		numbers[i] = scratch[i];
	return NULL;
}

int main(void) {
	for (int i = 0; i < N; i++)
		numbers[i] = i * 37 % N;
	struct slice all = {0, N, 0};
	sort(&all);
	for (int i = 0; i < N; i++)
		need(numbers[i] == i, "sorted");
	return 0;
}
