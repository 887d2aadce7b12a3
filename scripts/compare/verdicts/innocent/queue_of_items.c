// An item is filled under no lock, put on a queue under its mutex, taken from there under the same mutex, read under no lock, and put on a free list from which it is taken and filled again: it is never in two hands.
#include "turns.h"

struct item {
	struct item *next;
	int descriptor;
	long state;
};
struct list {
	pthread_mutex_t lock;
	struct item *head, *tail;
};

static struct list queue = {PTHREAD_MUTEX_INITIALIZER, NULL, NULL}, idle = {PTHREAD_MUTEX_INITIALIZER, NULL, NULL};
static long total;
static pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER;

static void push(struct list *l, struct item *i) {
	i->next = NULL;
	pthread_mutex_lock(&l->lock);
	if (l->tail)
		l->tail->next = i;
	else
		l->head = i;
	l->tail = i;
	pthread_mutex_unlock(&l->lock);
}

static struct item *pop(struct list *l) {
	pthread_mutex_lock(&l->lock);
	struct item *i = l->head;
	if (i) {
		l->head = i->next;
		if (!l->head)
			l->tail = NULL;
	}
	pthread_mutex_unlock(&l->lock);
	return i;
}

static void *accepts(void *unused) {
	for (int n = 1; n <= 6; n++) {
		struct item *i = pop(&idle);
		if (!i)
			i = malloc(sizeof *i);
		i->descriptor = n;
		i->state = 10 * n;
		push(&queue, i);
		rest(15);
	}
	return unused;
}

static void *serves(void *unused) {
	for (int idling = 0; idling < 8;) {
		rest(10);
		struct item *i = pop(&queue);
		if (!i) {
			idling++;
			continue;
		}
		long seen = i->descriptor + i->state;
		push(&idle, i);
		pthread_mutex_lock(&sums);
		total += seen;
		pthread_mutex_unlock(&sums);
	}
	return unused;
}

int main(void) {
	pthread_t a = start(accepts, NULL), s = start(serves, NULL), t = start(serves, NULL);
	pthread_join(a, NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	for (struct item *i = pop(&queue); i; i = pop(&queue))
		total += i->descriptor + i->state;
	return total != 231;
}
