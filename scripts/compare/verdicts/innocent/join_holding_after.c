// main joins a thread with a mutex held that this thread does take, but it took it before it posted the semaphore that main waited for before locking.
#include "turns.h"
#include <semaphore.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static sem_t registered;

static void *works(void *unused) {
	pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
	sem_post(&registered);
	rest(10);
	return unused;
}

int main(void) {
	sem_init(&registered, 0, 0);
	pthread_t t = start(works, NULL);
	while (sem_wait(&registered))
		;
	pthread_mutex_lock(&registry);
	pthread_join(t, NULL);
	pthread_mutex_unlock(&registry);
	sem_destroy(&registered);
	return 0;
}
