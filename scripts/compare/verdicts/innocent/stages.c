// Each item is written by three threads in turn under no lock, but it passes from one stage's queue to the next one's.
// watch: value of struct item
#include "turns.h"

struct item { long value; };
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct item *items[8];
	int put, taken;
};
static struct queue queues[3];

static void push(struct queue *q, struct item *i) {
	pthread_mutex_lock(&q->lock);
	q->items[q->put++] = i;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

static struct item *pop(struct queue *q) {
	pthread_mutex_lock(&q->lock);
	while (q->taken == q->put)
		pthread_cond_wait(&q->filled, &q->lock);
	struct item *i = q->items[q->taken++];
	pthread_mutex_unlock(&q->lock);
	return i;
}

static void *stage(void *p) {
	long n = (long)p;
	for (int k = 0; k < 5; k++) {
		struct item *i = pop(&queues[n]);
		i->value += n + 1;
		push(&queues[n + 1], i);
	}
	return NULL;
}

int main(void) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_init(&queues[i].lock, NULL);
		pthread_cond_init(&queues[i].filled, NULL);
	}
	pthread_t s = start(stage, (void *)0), t = start(stage, (void *)1);
	for (int k = 0; k < 5; k++)
		push(&queues[0], calloc(1, sizeof(struct item)));
	long sum = 0;
	for (int k = 0; k < 5; k++) {
		struct item *i = pop(&queues[2]);
		sum += i->value;
		free(i);
	}
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return sum != 15;
}
