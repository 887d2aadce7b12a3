// Two threads nest the locks of a pool's block in opposite orders, but each had the block for itself: the pool hands it out again when it was given back.
#include "turns.h"

struct block {
	struct block *next;
	pthread_mutex_t a, b;
};

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static struct block blocks[2], *unused_blocks = blocks;

static struct block *take(void) {
	pthread_mutex_lock(&pool);
	struct block *b = unused_blocks;
	unused_blocks = b->next;
	pthread_mutex_unlock(&pool);
	pthread_mutex_init(&b->a, NULL);
	pthread_mutex_init(&b->b, NULL);
	return b;
}

static void give(struct block *b) {
	pthread_mutex_destroy(&b->a);
	pthread_mutex_destroy(&b->b);
	pthread_mutex_lock(&pool);
	b->next = unused_blocks;
	unused_blocks = b;
	pthread_mutex_unlock(&pool);
}

static void *forth(void *unused) {
	struct block *b = take();
	nest(&b->a, &b->b);
	give(b);
	return unused;
}

static void *back(void *unused) {
	rest(20);
	struct block *b = take();
	nest(&b->b, &b->a);
	give(b);
	return unused;
}

int main(void) {
	blocks[0].next = &blocks[1];
	both(forth, back);
	return 0;
}
