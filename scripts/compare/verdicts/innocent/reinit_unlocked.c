// A mutex, a read-write lock and a condition are initialised again and again while other threads live that use them, but each time by the thread that alone has the structure then.
#include "turns.h"

static struct {
	pthread_mutex_t lock;
	pthread_rwlock_t table;
	pthread_cond_t changed;
} job;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed = PTHREAD_COND_INITIALIZER;
static int owner;

static void *works(void *p) {
	int me = p != NULL;
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&queue);
		while (owner != me)
			pthread_cond_wait(&handed, &queue);
		pthread_mutex_unlock(&queue);
		pthread_mutex_init(&job.lock, NULL);
		pthread_rwlock_init(&job.table, NULL);
		pthread_cond_init(&job.changed, NULL);
		pthread_mutex_lock(&job.lock);
		pthread_rwlock_rdlock(&job.table);
		pthread_cond_broadcast(&job.changed);
		pthread_rwlock_unlock(&job.table);
		pthread_mutex_unlock(&job.lock);
		pthread_mutex_lock(&queue);
		owner = !me;
		pthread_cond_broadcast(&handed);
		pthread_mutex_unlock(&queue);
	}
	return NULL;
}

int main(void) {
	pthread_t s = start(works, NULL), t = start(works, &owner);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
