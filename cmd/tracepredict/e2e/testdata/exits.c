#include "say.h"

/* main leaves by pthread_exit, the other threads lock on. */

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_t leader;

static void deepest(void) { pthread_exit(NULL); }

static void *body(void *arg)
{
	i_am("T1");
	MUST(pthread_join(leader, NULL) == 0);
	say("join main");
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	exit(0);
}

int main(void)
{
	name_is(&m, "m");
	leader = pthread_self();
	i_am("main");
	start(body, "T1", NULL);
	deepest();
}
