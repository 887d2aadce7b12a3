// main reads without a lock what detached threads changed, and joins none, but each counts itself off under the lock as its last act, and main waits for zero.
// watch: done
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int left = 3;
static long done;

static void *works(void *unused) {
	pthread_mutex_lock(&lock);
	done++;
	if (--left == 0)
		pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		need(!pthread_create(&t, &attr, works, NULL), "pthread_create");
	}
	pthread_attr_destroy(&attr);
	pthread_mutex_lock(&lock);
	while (left)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return done != 3;
}
