// Under a spin lock the second thread learns that the first half is over, and keeps it in an object of its own on the heap; otherwise it does nothing.
// watch: data
// build: -O2 -static
#include "halves.h"

struct context { int ready; char name[12]; };
static pthread_spinlock_t lock;
static int over;

static void *first(void *unused) {
	early();
	pthread_spin_lock(&lock);
	over = 1;
	pthread_spin_unlock(&lock);
	return unused;
}

__attribute__((noinline)) static void fill(struct context *c) {
	pthread_spin_lock(&lock);
	c->ready = over;
	pthread_spin_unlock(&lock);
}

static void *second(void *unused) {
	rest(20);
	struct context *c = kept(calloc(1, sizeof *c));
	fill(c);
	if (c->ready)
		late();
	free(c);
	return unused;
}

int main(void) {
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	both(first, second);
	return 0;
}
