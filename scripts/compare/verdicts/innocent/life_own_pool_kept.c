// A pool's block keeps its locks for ever, and two threads nest them in opposite orders, but whoever has taken the block has it alone.
// watch: uses of struct block
#include "turns.h"

struct block {
	struct block *next;
	pthread_mutex_t a, b;
	long uses;
};

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static struct block blocks[2], *unused_blocks;

static struct block *take(void) {
	pthread_mutex_lock(&pool);
	struct block *b = unused_blocks;
	unused_blocks = b->next;
	pthread_mutex_unlock(&pool);
	return b;
}

static void give(struct block *b) {
	pthread_mutex_lock(&pool);
	b->next = unused_blocks;
	unused_blocks = b;
	pthread_mutex_unlock(&pool);
}

static void *forth(void *unused) {
	struct block *b = take();
	nest(&b->a, &b->b);
	b->uses++;
	give(b);
	return unused;
}

static void *back(void *unused) {
	rest(20);
	struct block *b = take();
	nest(&b->b, &b->a);
	b->uses++;
	give(b);
	return unused;
}

int main(void) {
	for (int i = 0; i < 2; i++) {
		pthread_mutex_init(&blocks[i].a, NULL);
		pthread_mutex_init(&blocks[i].b, NULL);
		give(&blocks[i]);
	}
	both(forth, back);
	return 0;
}
