// A thread posts to a semaphore, and the first thread destroys it; and semaphores and barriers in use as they should be.
#include <semaphore.h>

#include "twice.h"

static sem_t done;
static pthread_barrier_t both;

static void *posts(void *s)
{
	sem_post(s);
	return NULL;
}

static void destroys(void *s) { sem_destroy(s); }

// The one that the barrier chooses destroys it.
static void *meets(void *unused)
{
	if (pthread_barrier_wait(&both) == PTHREAD_BARRIER_SERIAL_THREAD)
		pthread_barrier_destroy(&both);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;
	sem_t s;

	for (int i = 0; i < 2; i++) { // twice in the same memory
		if (sem_init(&done, 0, 0) || pthread_create(&t, NULL, posts, &done))
			return 1;
		sem_wait(&done);
		sem_destroy(&done); // after the post, since the wait is
		pthread_join(t, NULL);
	}
	if (pthread_barrier_init(&both, NULL, 2) || pthread_create(&t, NULL, meets, NULL))
		return 1;
	meets(NULL);
	pthread_join(t, NULL);
	if (sem_init(&s, 0, 0))
		return 1;
	use_and_dispose(argc, argv, posts, destroys, &s);
	return 0;
}
