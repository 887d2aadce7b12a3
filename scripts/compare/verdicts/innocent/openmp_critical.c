// The threads of a parallel region change plain data under no call of a lock, but in a critical section and, at the end, in the master behind a barrier.
// watch: sum, rounds
// build: -fopenmp
#include "turns.h"

static long sum, rounds;

int main(void) {
#pragma omp parallel num_threads(3)
	{
		for (int i = 0; i < 3; i++) {
#pragma omp critical(adds)
			sum += 2;
			rest(1);
		}
#pragma omp barrier
#pragma omp master
		rounds = sum;
	}
	return rounds != 18;
}
