// A critical section, a barrier between two loops and the join at the end of the region keep the threads of OpenMP apart.
//
// expect: nothing
// build: -fopenmp
#include <omp.h>
#include <stdio.h>

static long sum, parts, cells[2];

int main(void) {
#pragma omp parallel num_threads(2)
	{
		int me = omp_get_thread_num();
		cells[me] = me + 1;
#pragma omp barrier
		long other = cells[1 - me];
#pragma omp critical
		sum += other;
	}
#pragma omp parallel for num_threads(2) reduction(+ : parts)
	for (int i = 1; i <= 100; i++)
		parts += i;
	printf("%ld %ld\n", sum, parts);
	return sum != 3 || parts != 5050;
}
