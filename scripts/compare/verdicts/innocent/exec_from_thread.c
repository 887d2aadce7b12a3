// A thread executes the program anew while another holds a lock and a third waits for it, and the new program nests the locks the other way round, but the old program's threads are gone then.
#include "halves.h"
#include <unistd.h>

static char *self;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *holds(void *unused) {
	pthread_mutex_lock(&held);
	rest(500);
	pthread_mutex_unlock(&held);
	return unused;
}

static void *executes(void *unused) {
	early();
	rest(10);
	execl(self, self, "again", (char *)NULL);
	return unused;
}

static void *later(void *unused) {
	late();
	return unused;
}

int main(int argc, char **argv) {
	self = argv[0];
	if (argc > 1) {
		pthread_join(start(later, NULL), NULL);
		return 0;
	}
	pthread_t t = start(holds, NULL), w = start(holds, NULL);
	start(executes, NULL);
	pthread_join(t, NULL);
	pthread_join(w, NULL);
	return 1;
}
