// Plain data and opposite lock orders in two threads of a region, but a barrier of OpenMP stands between the halves.
// watch: data
// build: -fopenmp
#include "halves.h"

int main(void) {
#pragma omp parallel num_threads(2)
	{
#pragma omp single nowait
		{
			rest(10);
			early();
		}
#pragma omp barrier
#pragma omp single
		late();
	}
	return data != 42;
}
