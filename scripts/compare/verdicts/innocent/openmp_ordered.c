// The rounds of a loop run in different threads and change a plain variable under no lock, but in its ordered part, one after the other.
// watch: chain
// build: -fopenmp
#include "turns.h"

static long chain;

int main(void) {
#pragma omp parallel for ordered schedule(static, 1) num_threads(2)
	for (int i = 0; i < 6; i++) {
		rest(2);
#pragma omp ordered
		chain = chain * 2 + 1;
	}
	return chain != 63;
}
