// A thread destroys and frees a barrier, a semaphore and a condition as soon as it has come through them, while another may still be leaving, which POSIX allows: the last use of each has returned or has no more need of it.
// watch: sum of struct meeting
#include "turns.h"
#include <semaphore.h>

struct meeting {
	pthread_barrier_t all;
	pthread_mutex_t lock;
	pthread_cond_t told;
	int left;
	long sum;
};

static void *guest(void *p) {
	struct meeting *m = p;
	pthread_mutex_lock(&m->lock);
	m->sum += 2;
	pthread_mutex_unlock(&m->lock);
	pthread_barrier_wait(&m->all);
	pthread_mutex_lock(&m->lock);
	m->sum *= 2;
	if (!--m->left)
		pthread_cond_broadcast(&m->told);
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

int main(void) {
	for (int i = 0; i < 3; i++) {
		struct meeting *m = calloc(1, sizeof *m);
		pthread_barrier_init(&m->all, NULL, 3);
		pthread_mutex_init(&m->lock, NULL);
		pthread_cond_init(&m->told, NULL);
		m->left = 2;
		pthread_t t = start(guest, m), u = start(guest, m);
		pthread_detach(t);
		pthread_barrier_wait(&m->all);
		pthread_mutex_lock(&m->lock);
		while (m->left)
			pthread_cond_wait(&m->told, &m->lock);
		pthread_mutex_unlock(&m->lock);
		need(m->sum == 16, "sum");
		pthread_cond_destroy(&m->told);
		pthread_mutex_destroy(&m->lock);
		pthread_barrier_destroy(&m->all);
		free(m);
		pthread_join(u, NULL);
	}
	return 0;
}
