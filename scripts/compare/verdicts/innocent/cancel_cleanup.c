// A cleanup handler reads without a lock what main wrote, but it runs because of pthread_cancel, which main called after the write.
// watch: reason, seen
#include "turns.h"

static int reason, seen;

static void cleans(void *unused) { seen = reason; }

static void *works(void *unused) {
	pthread_cleanup_push(cleans, NULL);
	for (;;)
		rest(2);
	pthread_cleanup_pop(0);
	return unused;
}

int main(void) {
	pthread_t t = start(works, NULL);
	rest(20);
	reason = 9;
	pthread_cancel(t);
	pthread_join(t, NULL);
	return seen != 0 && seen != 9;
}
