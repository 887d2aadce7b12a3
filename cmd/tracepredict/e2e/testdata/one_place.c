// A producer and a consumer of one place, which wait for a condition: each of the waits releases the lock and acquires it again.
// With "hasty" the producer puts a second time before the first was taken.
#include <pthread.h>
#include <string.h>

#define KEEP __attribute__((noipa))

enum { ITEMS = 3 };

pthread_mutex_t place_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full, hasty;

KEEP void put(void) { full = 1; }
KEEP void take(void) { full = 0; }

static void *producer(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&place_lock);
		while (full)
			pthread_cond_wait(&changed, &place_lock);
		put();
		if (hasty && i == 1)
			put();
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&place_lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	hasty = argc > 1 && !strcmp(argv[1], "hasty");
	pthread_mutex_lock(&place_lock);
	pthread_create(&thread, NULL, producer, NULL);
	for (int i = 0; i < ITEMS; i++) {
		while (!full)
			pthread_cond_wait(&changed, &place_lock);
		take();
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&place_lock);
	pthread_join(thread, NULL);
	return 0;
}
