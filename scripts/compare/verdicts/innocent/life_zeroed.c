// Locks in zeroed memory, at addresses that another object's locks had before it was freed, are nested in the other order; zero is a valid mutex here.
#include "turns.h"
#include <malloc.h>

struct node { long header[200]; pthread_mutex_t left, right; };

static void *forth(void *unused) {
	own_cache();
	rest(40);
	struct node *n = calloc(1, sizeof *n);
	nest(&n->left, &n->right);
	free(n);
	return unused;
}

static void *back(void *unused) {
	own_cache();
	rest(120);
	struct node *n = calloc(1, sizeof *n);
	nest(&n->right, &n->left);
	free(n);
	return unused;
}

int main(void) {
	mallopt(M_ARENA_MAX, 1);
	both(forth, back);
	return 0;
}
