// Each node of a list is locked before its predecessor is released, so that a chain of locks crosses the list, but always towards its end.
#include "turns.h"

static struct node {
	pthread_mutex_t lock;
	struct node *next;
	int value;
} nodes[4];

static void *walks(void *unused) {
	struct node *n = &nodes[0];
	pthread_mutex_lock(&n->lock);
	for (;;) {
		n->value++;
		struct node *next = n->next;
		if (!next)
			break;
		pthread_mutex_lock(&next->lock);
		pthread_mutex_unlock(&n->lock);
		n = next;
	}
	pthread_mutex_unlock(&n->lock);
	return unused;
}

int main(void) {
	for (int i = 0; i < 4; i++) {
		pthread_mutex_init(&nodes[i].lock, NULL);
		nodes[i].next = i < 3 ? &nodes[i + 1] : NULL;
	}
	both(walks, walks);
	for (int i = 0; i < 4; i++)
		pthread_mutex_destroy(&nodes[i].lock);
	return nodes[3].value != 2;
}
