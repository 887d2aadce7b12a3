// A loop of OpenMP adds up into a static variable without a reduction.
//
// expect: race sum
// watch: sum
// build: -fopenmp
#include "fortune.h"

static int sum;

int main(void) {
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < 2; i++) {
		later(i);
		sum += i + 1;
	}
	return sum != 3;
}
