// Parallel mergesort, as in section 4.2 of Soueidi, El-Hokayem and Falcone (FASE 2023): the halves of an array are tasks of
// threads of their own, two levels deep, which look whether what they return is sorted. The merge of the whole array is the
// synchronising action: those of the halves are concurrent. All is done SORTS times.
//
//	mergesort SIZE SORTS
#include "scopes.h"
#include <string.h>

enum { SORTER = 1, TASK };
enum { SORTED = 1, UNSORTED = 2 };

#define LEVELS 2

struct part {
	int *from, *spare;
	int n, depth;
	bool last; // of the parts of this depth
};

static int size_of_array, sorts;

static void *task(void *arg);

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

// is_sorted scans the array: what is monitored is expensive.
KEEP int is_sorted(const int *a, int n)
{
	for (int i = 1; i < n; i++)
		if (a[i - 1] > a[i])
			return 0;
	return 1;
}

static void merge(struct part *p)
{
	int half = p->n / 2, i = 0, j = half, k = 0;
	while (i < half && j < p->n)
		p->spare[k++] = p->from[j] < p->from[i] ? p->from[j++] : p->from[i++];
	memcpy(p->spare + k, p->from + i, (half - i) * sizeof *p->from);
	memcpy(p->from, p->spare, (k + half - i) * sizeof *p->from);
}

KEEP void merge_whole(struct part *p)
{
	synchronises();
	merge(p);
}

#if defined GLOBAL || defined HELD || defined LOCAL
static bool region_holds(void)
{
	return count(TASK, UNSORTED) == 0;
}
#endif

static void sort(struct part *p)
{
	if (p->depth == 0) {
		qsort(p->from, p->n - (broken && p->last), sizeof *p->from, compare);
		return;
	}
	int half = p->n / 2;
	struct part halves[] = {
		{ p->from, p->spare, half, p->depth - 1, false },
		{ p->from + half, p->spare + half, p->n - half, p->depth - 1, p->last },
	};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, task, &halves[i]))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (p->depth == LEVELS)
		merge_whole(p);
	else
		merge(p);
}

static void *task(void *arg)
{
	struct part *p = arg;
	begins(TASK);
	sort(p);
	int ok;
	monitored(ok = is_sorted(p->from, p->n));
	sees(ok ? SORTED : UNSORTED);
	ends();
	return NULL;
}

static void *sorter(void *arg)
{
	joins_in(SORTER);
	int *a = malloc(size_of_array * sizeof *a), *spare = malloc(size_of_array * sizeof *spare);
	for (int i = 0; i < sorts; i++) {
		unsigned random = i + 1;
		for (int j = 0; j < size_of_array; j++)
			a[j] = (random = random * 1664525 + 1013904223) >> 1;
		a[size_of_array - 1] = 0; // in its place only if it is sorted too
		sort(&(struct part){ a, spare, size_of_array, LEVELS, true });
	}
	free(a);
	free(spare);
	ends();
	return arg;
}

int main(int argc, char **argv)
{
	size_of_array = argument(argc, argv, 1, 64);
	sorts = argument(argc, argv, 2, 3);
	run((struct routine[]){ { sorter, 1 } }, 1, 7ul * sorts, sorts + 1ul);
	return 0;
}
