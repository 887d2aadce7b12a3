// Two threads and an object: the second thread uses it, the first one disposes of it later, by time alone. With the argument
// "joined" it joins the second thread first.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

// Waits until the kernel has no clock of a thread any more, so that it has ended: nothing orders the threads by that.
static void until_gone(pthread_t t)
{
	struct timespec used;
	clockid_t clock;

	if (pthread_getcpuclockid(t, &clock))
		return;
	while (!clock_gettime(clock, &used))
		usleep(1000);
}

static void use_and_dispose(int argc, char **argv, void *(*use)(void *), void (*dispose)(void *), void *object)
{
	int joined = argc > 1 && !strcmp(argv[1], "joined");
	pthread_t t;

	if (pthread_create(&t, NULL, use, object))
		abort();
	if (joined)
		pthread_join(t, NULL);
	else
		until_gone(t);
	dispose(object);
	if (!joined)
		pthread_join(t, NULL);
}
