// Two static mutexes are nested in opposite orders, but between, when the first thread has said that it is through, they were destroyed and initialised again.
#include "turns.h"
#include <semaphore.h>

static pthread_mutex_t a, b;
static sem_t through;

static void *forth(void *unused) {
	nest(&a, &b);
	sem_post(&through);
	return unused;
}

static void *back(void *unused) {
	while (sem_wait(&through))
		;
	pthread_mutex_destroy(&a);
	pthread_mutex_destroy(&b);
	pthread_mutex_init(&a, NULL);
	pthread_mutex_init(&b, NULL);
	nest(&b, &a);
	return unused;
}

int main(void) {
	sem_init(&through, 0, 0);
	pthread_mutex_init(&a, NULL);
	pthread_mutex_init(&b, NULL);
	both(forth, back);
	pthread_mutex_destroy(&a);
	pthread_mutex_destroy(&b);
	sem_destroy(&through);
	return 0;
}
