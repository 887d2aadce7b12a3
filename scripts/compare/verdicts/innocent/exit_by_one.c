// Two threads change a plain variable under no lock, but an atomic exchange lets only one of them pass, which then ends the process at once.
// watch: report
#include "turns.h"
#include <stdatomic.h>

static atomic_flag ended = ATOMIC_FLAG_INIT;
static long report;

static void *may_end(void *p) {
	rest((long)p);
	if (!atomic_flag_test_and_set(&ended)) {
		report++;
		_Exit(report != 1);
	}
	return NULL;
}

int main(void) {
	pthread_t s = start(may_end, (void *)10), t = start(may_end, (void *)20);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 1;
}
