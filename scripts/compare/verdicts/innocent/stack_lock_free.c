// Nodes are filled before a push and read after the pop under no lock, but the stack is taken as a whole by one exchange, which also excludes reuse below a thread.
// watch: value of struct node
#include "turns.h"
#include <stdatomic.h>

struct node {
	struct node *next;
	long value;
};

static struct node *_Atomic top;

static void *pushes(void *unused) {
	for (long i = 1; i <= 5; i++) {
		struct node *n = malloc(sizeof *n);
		n->value = i;
		n->next = atomic_load_explicit(&top, memory_order_relaxed);
		while (!atomic_compare_exchange_weak_explicit(&top, &n->next, n, memory_order_release, memory_order_relaxed))
			;
		rest(2);
	}
	return unused;
}

static void *drains(void *unused) {
	for (long sum = 0; sum < 30; rest(2)) {
		struct node *n = atomic_exchange_explicit(&top, NULL, memory_order_acquire);
		while (n) {
			struct node *next = n->next;
			sum += n->value;
			free(n);
			n = next;
		}
	}
	return unused;
}

int main(void) {
	pthread_t t = start(drains, NULL);
	both(pushes, pushes);
	pthread_join(t, NULL);
	return 0;
}
