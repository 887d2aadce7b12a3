// Two threads sort and compare with functions that change a static, without a lock, but it is thread-local in each, and the array parts are disjoint.
// watch: shared
#include "turns.h"

static int numbers[2][8] = {{5, 3, 8, 1, 9, 2, 7, 4}, {4, 7, 2, 9, 1, 8, 3, 5}};
static __thread long comparisons;

static int compare(const void *a, const void *b) {
	comparisons++;
	return *(const int *)a - *(const int *)b;
}

static void *sorts(void *part) {
	qsort(part, 8, sizeof(int), compare);
	rest(5);
	return (void *)comparisons;
}

int main(void) {
	pthread_t s = start(sorts, numbers[0]), t = start(sorts, numbers[1]);
	void *x, *y;
	pthread_join(s, &x);
	pthread_join(t, &y);
	return numbers[0][0] != 1 || numbers[1][7] != 9 || (long)x + (long)y == 0;
}
