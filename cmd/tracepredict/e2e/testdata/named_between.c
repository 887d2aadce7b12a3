// A thread does its work and gives itself a name, both between the same two turns of main. The argument says when it does
// the naming: "before" the work or "behind" it.
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#define KEEP __attribute__((noipa))

pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *how;

KEEP void work(void) {}

static void *worker(void *unused)
{
	if (!strcmp(how, "before"))
		prctl(PR_SET_NAME, "worker");
	work();
	if (!strcmp(how, "behind"))
		prctl(PR_SET_NAME, "worker");
	return unused;
}

static void take_turn(void)
{
	pthread_mutex_lock(&turn_lock);
	pthread_mutex_unlock(&turn_lock);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	how = argc > 1 ? argv[1] : "before";
	take_turn();
	pthread_create(&thread, NULL, worker, NULL);
	pthread_join(thread, NULL);
	take_turn();
	return 0;
}
