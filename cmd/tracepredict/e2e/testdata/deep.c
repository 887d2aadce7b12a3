#include "say.h"

/* A hundred calls of pthread_once, each within the one before. */

enum { DEPTH = 100 };

static pthread_once_t o[DEPTH];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int depth;

static void initialise(void)
{
	int mine = ++depth;

	if (mine < DEPTH) {
		say("once-enter o%d", mine);
		MUST(pthread_once(&o[mine], initialise) == 0);
		say("once-done o%d", mine);
	} else {
		MUST(pthread_mutex_lock(&m) == 0);
		say("acquire m");
		say("release m");
		MUST(pthread_mutex_unlock(&m) == 0);
	}
}

int main(void)
{
	char name[10];

	name_is(&m, "m");
	for (int i = 0; i < DEPTH; i++) {
		sprintf(name, "o%d", i);
		name_is(&o[i], name);
	}
	say("once-enter o0");
	MUST(pthread_once(&o[0], initialise) == 0);
	say("once-done o0");
	return 0;
}
