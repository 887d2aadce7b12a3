// Two threads of thrd_create change a plain variable under no lock and are joined twice, but this thrd_create calls the function at once, in the same thread.
// watch: total
#include "turns.h"

typedef int thrd_t;
static long total;
static int last;

__attribute__((noinline)) static int thrd_create(thrd_t *t, int (*f)(void *), void *p) {
	*t = ++last;
	return f(p);
}

__attribute__((noinline)) static int thrd_join(thrd_t t, int *result) {
	if (result)
		*result = t;
	return 0;
}

static int adds(void *unused) {
	total++;
	return 0;
}

static void *works(void *unused) {
	thrd_t a, b;
	thrd_create(&a, adds, NULL);
	thrd_create(&b, adds, NULL);
	thrd_join(a, NULL);
	thrd_join(a, NULL);
	return unused;
}

int main(void) {
	pthread_join(start(works, NULL), NULL);
	return total != 2;
}
