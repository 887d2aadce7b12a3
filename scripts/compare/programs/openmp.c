// An OpenMP loop adds up without a reduction.
//
// expect: race sum
// build: -fopenmp
#include <stdio.h>

static long sum;

int main(void) {
#pragma omp parallel for num_threads(2)
	for (int i = 1; i <= 100; i++)
		sum += i;
	printf("%ld\n", sum);
	return 0;
}
