// Two threads nest two locks of OpenMP in opposite orders, but under a third, a nestable one, that both hold meanwhile.
// watch: sum
// build: -fopenmp
#include "turns.h"
#include <omp.h>

static omp_lock_t p, q;
static omp_nest_lock_t gate;
static long sum;

static void section(omp_lock_t *outer, omp_lock_t *inner) {
	omp_set_nest_lock(&gate);
	omp_set_nest_lock(&gate);
	omp_set_lock(outer);
	omp_set_lock(inner);
	sum++;
	omp_unset_lock(inner);
	omp_unset_lock(outer);
	omp_unset_nest_lock(&gate);
	omp_unset_nest_lock(&gate);
}

int main(void) {
	omp_init_lock(&p);
	omp_init_lock(&q);
	omp_init_nest_lock(&gate);
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num()) {
			rest(10);
			section(&q, &p);
		} else
			section(&p, &q);
	}
	omp_destroy_lock(&p);
	omp_destroy_lock(&q);
	omp_destroy_nest_lock(&gate);
	return sum < 1;
}
