// Threads post to a latch that lies on another thread's stack and is destroyed when that one returns, but the count is changed and signalled under the latch's lock, which the owner holds last.
// watch: sum of struct part
#include "turns.h"

struct latch { pthread_mutex_t lock; pthread_cond_t zero; int left; };
struct part { struct latch *l; long from, to, sum; };

static void *sums(void *p) {
	struct part *part = p;
	for (long i = part->from; i < part->to; i++)
		part->sum += i;
	pthread_mutex_lock(&part->l->lock);
	if (!--part->l->left)
		pthread_cond_signal(&part->l->zero);
	pthread_mutex_unlock(&part->l->lock);
	return NULL;
}

static long parallel_sum(long n) {
	struct latch l = {.left = 3};
	pthread_mutex_init(&l.lock, NULL);
	pthread_cond_init(&l.zero, NULL);
	struct part parts[3];
	for (int i = 0; i < 3; i++) {
		parts[i] = (struct part){&l, i * n, (i + 1) * n, 0};
		pthread_detach(start(sums, &parts[i]));
	}
	pthread_mutex_lock(&l.lock);
	while (l.left)
		pthread_cond_wait(&l.zero, &l.lock);
	pthread_mutex_unlock(&l.lock);
	pthread_cond_destroy(&l.zero);
	pthread_mutex_destroy(&l.lock);
	return parts[0].sum + parts[1].sum + parts[2].sum;
}

int main(void) {
	long a = parallel_sum(4), b = parallel_sum(4);
	return a != 66 || b != 66;
}
