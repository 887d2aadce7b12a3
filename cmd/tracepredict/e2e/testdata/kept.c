// Each thread takes the other's lock, and then writes what both share under a lock of its own: while one stands before its
// write with its lock, the other cannot come to its own, unless it has been past that lock before.
// main naps, so that time always passes for somebody.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { ROUNDS = 300 };

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static volatile int shared, visits[2];
static atomic_int ended;

static void *work(void *arg) {
	int own = (int)(long)arg;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&locks[1 - own]);
		visits[1 - own]++;
		pthread_mutex_unlock(&locks[1 - own]);
		pthread_mutex_lock(&locks[own]);
		shared = i;
		pthread_mutex_unlock(&locks[own]);
	}
	atomic_fetch_add(&ended, 1);
	return NULL;
}

int main(void) {
	pthread_t threads[2];
	struct timespec nap = {0, 10000000};
	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	while (atomic_load(&ended) < 2)
		nanosleep(&nap, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
