// With C11's threads: a table is filled by whoever comes first and read under no lock by all, but each has called call_once before, and the counters are thread-specific until the destructor adds them up.
// watch: total
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static mtx_t lock;
static tss_t key;
static int table[16];
static long total;

static void flush(void *p) {
	mtx_lock(&lock);
	total += *(long *)p;
	mtx_unlock(&lock);
	free(p);
}

static void fill(void) {
	mtx_init(&lock, mtx_plain);
	tss_create(&key, flush);
	for (int i = 0; i < 16; i++)
		table[i] = i;
}

static int worker(void *p) {
	call_once(&once, fill);
	long *mine = calloc(1, sizeof *mine);
	tss_set(key, mine);
	for (int i = 0; i < 16; i++)
		*mine += table[i] * *(int *)p;
	return 0;
}

int main(void) {
	thrd_t t[3];
	int factor[3] = {1, 2, 3};
	for (int i = 0; i < 3; i++)
		thrd_create(&t[i], worker, &factor[i]);
	for (int i = 0; i < 3; i++)
		thrd_join(t[i], NULL);
	mtx_destroy(&lock);
	return total != 720;
}
