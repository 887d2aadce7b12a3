/* Threads of OpenMP share what is static and what is on the heap. Each way has a defect, or, with a second
 * argument, the twin of it that has none. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cell {
	long value;
};

static long sum, seen;
static long *mail;
#pragma omp threadprivate(mail)
static struct cell *cells;
static omp_lock_t one, two;

/* Makes what thread n does come behind what the other does. */
static void late(int n) { usleep(n * 100000); }

/* All threads count, in one critical section or in one each. */
static void critical(int ok) {
#pragma omp parallel num_threads(2)
	for (int i = 0; i < 2; i++) {
		late(omp_get_thread_num());
		if (ok || omp_get_thread_num())
#pragma omp critical
			sum++;
		else
#pragma omp critical(other)
			sum++;
	}
}

/* Each thread enters a critical section, and counts in it or beside it. */
static void swapped(int ok) {
#pragma omp parallel num_threads(2)
	{
		int me = omp_get_thread_num();
		late(me);
		if (!ok && !me)
			sum++;
#pragma omp critical
		{
			if (ok)
				sum++;
		}
		if (!ok && me)
			sum++;
	}
}

/* A second region works on what a first one made, or beside it. */
static void region(int ok) {
#pragma omp parallel num_threads(2)
	{
		late(omp_get_thread_num());
		cells[omp_get_thread_num()].value++;
	}
	for (int i = 0; i < 2; i++)
		cells[i].value++;
#pragma omp parallel num_threads(2)
	{
		late(omp_get_thread_num());
		cells[ok ? 1 - omp_get_thread_num() : 0].value++;
	}
	seen = cells[0].value + cells[1].value;
}

/* The second loop reads what other threads wrote in the first, which does not always end with a barrier. */
static void loop(int ok) {
#pragma omp parallel num_threads(2)
	{
		mail = calloc(2, sizeof *mail);
		if (ok) {
#pragma omp for schedule(static)
			for (int i = 0; i < 2; i++)
				cells[i].value = i;
		} else {
#pragma omp for schedule(static) nowait
			for (int i = 0; i < 2; i++)
				cells[i].value = i;
		}
		late(omp_get_thread_num());
#pragma omp for schedule(static)
		for (int i = 0; i < 2; i++)
			mail[i] = cells[1 - i].value;
	}
}

/* As loop, with loops that libgomp shares out. */
static void dynamic(int ok) {
#pragma omp parallel num_threads(2)
	{
		if (ok) {
#pragma omp for schedule(dynamic)
			for (int i = 0; i < 2; i++) {
				late(i);
				cells[i].value = i;
			}
		} else {
#pragma omp for schedule(dynamic) nowait
			for (int i = 0; i < 2; i++) {
				late(i);
				cells[i].value = i;
			}
		}
#pragma omp critical
		sum += cells[0].value + cells[1].value;
	}
}

/* A chain of values, in the ordered part of a loop or behind it. */
static void ordered(int ok) {
#pragma omp parallel for ordered schedule(static, 1) num_threads(2)
	for (int i = 0; i < 4; i++) {
#pragma omp ordered
		if (ok)
			cells->value = cells->value * 2 + 1;
		late(1);
		if (!ok)
			cells->value = cells->value * 2 + 1;
	}
}

/* One thread allocates for all, and the others copy the pointer; one thread looks before. */
static void copied(int ok) {
#pragma omp parallel num_threads(2)
	{
#pragma omp master
		if (!ok)
			seen = cells->value;
		late(!omp_get_thread_num());
#pragma omp single copyprivate(mail)
		{
			mail = &cells->value;
			*mail = 42;
		}
		if (*mail != 42)
			abort();
	}
}

/* Two sections, with a third part behind them or beside them. */
static void sections(int ok) {
#pragma omp parallel num_threads(2)
	{
		if (ok) {
#pragma omp sections
			{
#pragma omp section
				cells[0].value = 1;
#pragma omp section
				{
					late(1);
					cells[1].value = 2;
				}
			}
		} else {
#pragma omp sections nowait
			{
#pragma omp section
				cells[0].value = 1;
#pragma omp section
				{
					late(1);
					cells[1].value = 2;
				}
			}
		}
#pragma omp critical
		sum += cells[0].value + cells[1].value;
	}
}

/* Two locks in opposite orders, in two threads at a time or with a barrier between. */
static void locks(int ok) {
	omp_init_lock(&one);
	omp_init_lock(&two);
#pragma omp parallel num_threads(2)
	{
		int me = omp_get_thread_num();
		if (!me) {
			omp_set_lock(&one);
			omp_set_lock(&two);
			omp_unset_lock(&two);
			omp_unset_lock(&one);
		}
		late(me);
		if (ok) {
#pragma omp barrier
		}
		if (me) {
			omp_set_lock(&two);
			omp_set_lock(&one);
			omp_unset_lock(&one);
			omp_unset_lock(&two);
		}
	}
	omp_destroy_lock(&one);
	omp_destroy_lock(&two);
}

/* Each of the threads of a region begins a region of its own, whose threads add to one cell, or to one each. */
static void nested(int ok) {
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	{
		struct cell *own = &cells[ok ? omp_get_thread_num() : 0];
		late(omp_get_thread_num());
		own->value++;
#pragma omp parallel num_threads(2)
		{
			late(omp_get_thread_num());
			if (omp_get_thread_num())
				own->value++;
#pragma omp barrier
			if (!omp_get_thread_num())
				own->value++;
		}
		own->value++;
	}
}

static int both;

static void *begin(void *arg) {
	struct cell *own = arg;

	for (int i = 0; i < 2; i++) {
#pragma omp parallel num_threads(2)
#pragma omp critical
		own->value++;
		own->value++;
	}
	return 0;
}

/* Two threads that the program made begin regions, on one cell or on one each. */
static void masters(int ok) {
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, begin, &cells[ok ? i : 0]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	both = 1;
}

/* A task, of which libgomp's calls do not show the order: what it does is not known to race with what follows. */
static void task(int ok) {
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task
		sum++;
		late(1);
		if (ok) {
#pragma omp taskwait
		}
		sum++;
	}
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		void (*run)(int ok);
	} ways[] = {{"critical", critical}, {"swapped", swapped}, {"region", region}, {"loop", loop}, {"dynamic", dynamic}, {"ordered", ordered},
		{"copied", copied}, {"sections", sections}, {"locks", locks}, {"nested", nested}, {"masters", masters}, {"task", task}};

	cells = calloc(4, sizeof *cells);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			ways[i].run(argc > 2);
	printf("%ld %ld %ld\n", sum, seen, cells->value);
	return 0;
}
