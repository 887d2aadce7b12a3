// Two tasks share plain data and nest mutexes in opposite orders, but the second depends on what the first puts out.
// watch: data
// build: -fopenmp
#include "halves.h"

int main(void) {
	int token = 0;
	(void)token;
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task depend(out : token)
		{
			rest(10);
			early();
		}
#pragma omp task depend(in : token)
		late();
	}
	return data != 42;
}
