/* Two threads add to a plain total and change an atomic variable. The argument says how: an operation
 * whose result nobody uses orders nothing but this run, and one whose result decides what comes next
 * orders every run. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int total;
static atomic_int users;
static int hits, spares;
static const char *what;

static int is(const char *name) { return !strcmp(what, name); }

static void later(void) {
	struct timespec t = {0, 40000000};
	nanosleep(&t, 0);
}

static void *first(void *arg) {
	if (is("half"))
		__atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
	else if (is("whole"))
		__atomic_fetch_add(&spares, 1, __ATOMIC_SEQ_CST);
	else
		total += 5;
	atomic_fetch_add(&users, 1);
	return arg;
}

static void *second(void *arg) {
	later();
	if (is("half"))
		hits++;
	else if (is("whole"))
		__atomic_fetch_add(&spares, 1, __ATOMIC_SEQ_CST);
	else if (is("count")) {
		atomic_fetch_add(&users, 1);
		total += 6;
	} else if (is("store")) {
		atomic_store(&users, 7);
		total += 6;
	} else if (is("ticket")) {
		if (atomic_fetch_add(&users, 1) == 1)
			total += 6;
	} else if (is("exchange")) {
		if (atomic_exchange(&users, 7) == 1)
			total += 6;
	}
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t, u;
	what = argc > 1 ? argv[1] : "count";
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	printf("%d %d %d\n", total, hits, spares);
	return 0;
}
