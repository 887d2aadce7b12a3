// Two threads and an object: the second thread uses it, the first one disposes of it later, by time alone. With the argument
// "joined" it waits for the second thread first.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

static void use_and_dispose(int argc, char **argv, void *(*use)(void *), void (*dispose)(void *), void *object)
{
	int joined = argc > 1 && !strcmp(argv[1], "joined");
	pthread_t t;

	if (pthread_create(&t, NULL, use, object))
		abort();
	if (joined)
		pthread_join(t, NULL);
	else
		usleep(100000); // long, but no order
	dispose(object);
	if (!joined)
		pthread_join(t, NULL);
}
