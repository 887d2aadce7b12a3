// The size of an item is set when it is on the queue; the thread that takes items from there looks later, in this run.
//
// expect: race size
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

static void rest(long milliseconds) {
	nanoseconds(1000000 * milliseconds);
}

static pthread_t start(void *(*r)(void *), void *p) {
	pthread_t t;
	pthread_create(&t, 0, r, p);
	return t;
}

struct item {
	struct item *next;
	long size;
};

static struct queue {
	pthread_mutex_t lock;
	struct item *head;
} *queue;

static void *fills(void *unused) {
	for (long n = 0; n < 4; n++) {
		struct item *i = malloc(sizeof *i);
		pthread_mutex_lock(&queue->lock);
		i->next = queue->head;
		queue->head = i;
		pthread_mutex_unlock(&queue->lock);
		chance();
		i->size = n;
	}
	return unused;
}

static void *empties(void *p) {
	rest(60);
	for (int n = 0; n < 4; n++) {
		pthread_mutex_lock(&queue->lock);
		struct item *i = queue->head;
		if (i)
			queue->head = i->next;
		pthread_mutex_unlock(&queue->lock);
		if (!i)
			break;
		*(long *)p += i->size;
		i->size = -1;
	}
	return NULL;
}

int main(void) {
	long sum = 0;
	queue = calloc(1, sizeof *queue);
	pthread_mutex_init(&queue->lock, NULL);
	pthread_t s = start(fills, NULL), t = start(empties, &sum);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return sum > 6;
}
