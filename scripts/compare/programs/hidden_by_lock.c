// Both threads write the total without a lock. In between each
// takes the lock of the log; this run happens to take it in the
// order in which the total is written, so happens-before orders
// the writes. Any delay of the first thread shows the race.
//
// expect: race total
// timed
#include "threads.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int total, last;

static void log_line(int line) {
	pthread_mutex_lock(&log_lock);
	last = line;
	pthread_mutex_unlock(&log_lock);
}

static void *first(void *unused) {
	total += 1;
	log_line(1);
	return unused;
}

static void *second(void *unused) {
	later(1);
	log_line(2);
	total += 2;
	return unused;
}

int main(void) {
	RUN(first, second);
	return total != 3;
}
