// Detached threads nest locks one way and main afterwards the other way, and reads under no lock what they wrote, but it first waits until the last of them has said, after its work, that it is gone.
// watch: shared
// build: -O2 -fPIE -pie
#include "turns.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, count_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t none_left = PTHREAD_COND_INITIALIZER;
static int alive;
static long finished[3];

static void *works(void *p) {
	nest(&a, &b);
	finished[(long)p] = 1;
	pthread_mutex_lock(&count_lock);
	if (!--alive)
		pthread_cond_signal(&none_left);
	pthread_mutex_unlock(&count_lock);
	return NULL;
}

int main(void) {
	alive = 3;
	for (long i = 0; i < 3; i++)
		pthread_detach(start(works, (void *)i));
	pthread_mutex_lock(&count_lock);
	while (alive)
		pthread_cond_wait(&none_left, &count_lock);
	pthread_mutex_unlock(&count_lock);
	nest(&b, &a);
	need(finished[0] + finished[1] + finished[2] == 3, "finished");
	finished[0] = 0;
	return 0;
}
