// A plain buffer is written by two threads under no lock, but its owner, a field that is kept under a lock, says which of them may.
// watch: buffer
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int owner;
static long buffer;

static void *works(void *p) {
	int me = (int)(long)p;
	for (int i = 0; i < 4; i++) {
		pthread_mutex_lock(&lock);
		while (owner != me)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		buffer++;
		pthread_mutex_lock(&lock);
		owner = !me;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void) {
	pthread_t s = start(works, (void *)0), t = start(works, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return buffer != 8;
}
