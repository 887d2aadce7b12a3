// As hidden_by_lock, but the lock guards a counter that both increment. The second thread reads the
// number that the first one wrote, and a schedule in which it reads another one is no longer a
// reordering of this run. Nothing depends on the number.
//
// expect: race total
#include "threads.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int total, lines;

static void log_line(void) {
	pthread_mutex_lock(&log_lock);
	lines++;
	pthread_mutex_unlock(&log_lock);
}

static void *first(void *unused) {
	total += 1;
	log_line();
	return unused;
}

static void *second(void *unused) {
	later(1);
	log_line();
	total += 2;
	return unused;
}

int main(void) {
	RUN(first, second);
	return total != 3;
}
