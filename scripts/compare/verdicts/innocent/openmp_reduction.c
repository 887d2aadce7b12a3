// Threads add to one variable under no lock and another loop reads all that they wrote, but by a reduction, an atomic and the end of each loop.
// watch: shared
// build: -fopenmp
#include "turns.h"

static long cells[8], copies[8], hits, sum;

int main(void) {
	long total = 0;
#pragma omp parallel num_threads(2)
	{
#pragma omp for reduction(+ : total)
		for (int i = 0; i < 8; i++) {
			cells[i] = i;
			total += i;
#pragma omp atomic
			hits++;
			rest(1);
		}
#pragma omp for schedule(dynamic)
		for (int i = 0; i < 8; i++)
			copies[i] = cells[7 - i];
	}
	sum = total + hits + copies[7];
	return sum != 36;
}
