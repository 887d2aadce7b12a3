// Two threads nest two locks in opposite orders. Before, the second one reads under a lock what the first one has
// written when it was through. The argument says what it does with that; in the twins, whose names begin with "same",
// it may do the same with what it would have read before.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t others[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int stage, seen;
static double progress;
static __thread int own;
static const char *mode;
static int limit;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *first(void *unused) {
	nest(&one, &two);
	pthread_mutex_lock(&lock);
	stage = 1;
	progress = 1;
	pthread_mutex_unlock(&lock);
	return unused;
}

static int read_stage(void) {
	pthread_mutex_lock(&lock);
	int v = stage;
	pthread_mutex_unlock(&lock);
	return v;
}

static double read_progress(void) {
	pthread_mutex_lock(&lock);
	double v = progress;
	pthread_mutex_unlock(&lock);
	return v;
}

static __attribute__((noinline)) void equal(int n) {
	if (read_stage() == n)
		nest(&two, &one);
}

static __attribute__((noinline)) void same_not_above(int n) {
	if (read_stage() <= n)
		nest(&two, &one);
}

static __attribute__((noinline)) void keep(int *to) {
	pthread_mutex_lock(&lock);
	*to = stage;
	pthread_mutex_unlock(&lock);
}

static __attribute__((noinline)) void heap(int *p) {
	keep(p);
	if (*p)
		nest(&two, &one);
}

static __attribute__((noinline)) void same_heap(int *p) {
	keep(p);
	if (p[0] + p[1] >= 0)
		nest(&two, &one);
}

static __attribute__((noinline)) void local(void) {
	keep(&own);
	if (own)
		nest(&two, &one);
}

static __attribute__((noinline)) void which(void) {
	int v = read_stage();
	nest(v ? &two : &others[0], v ? &one : &others[1]);
}

static __attribute__((noinline)) void same_sum(void) {
	seen += read_stage();
	nest(&two, &one);
}

static __attribute__((noinline)) void exits(void) {
	if (read_progress() < 0.5)
		pthread_exit(NULL);
	nest(&two, &one);
}

static __attribute__((noinline)) void same_exits(void) {
	if (read_progress() < -0.5)
		pthread_exit(NULL);
	nest(&two, &one);
}

static void *second(void *unused) {
	struct timespec t = {0, 150000000};
	nanosleep(&t, NULL);
	int *object = calloc(2, sizeof *object);
	if (!strcmp(mode, "equal"))
		equal(limit);
	else if (!strcmp(mode, "same_not_above"))
		same_not_above(limit);
	else if (!strcmp(mode, "heap"))
		heap(object);
	else if (!strcmp(mode, "same_heap"))
		same_heap(object);
	else if (!strcmp(mode, "local"))
		local();
	else if (!strcmp(mode, "which"))
		which();
	else if (!strcmp(mode, "same_sum"))
		same_sum();
	else if (!strcmp(mode, "exits"))
		exits();
	else if (!strcmp(mode, "same_exits"))
		same_exits();
	free(object);
	return unused;
}

int main(int argc, char **argv) {
	pthread_t a, b;
	mode = argv[1];
	limit = argc - 1;
	pthread_create(&a, NULL, first, NULL);
	pthread_create(&b, NULL, second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d\n", seen);
	return 0;
}
