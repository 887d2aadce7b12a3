// mtx_lock is called in opposite orders and never undone, but it is the program's own function that forbids changes of a matrix, and waits for nothing.
#include "turns.h"

struct matrix { int locked; double cells[4]; };
static struct matrix a, b;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) int mtx_lock(struct matrix *m) {
	pthread_mutex_lock(&lock);
	m->locked++;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void *forth(void *unused) {
	mtx_lock(&a);
	mtx_lock(&b);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	mtx_lock(&b);
	mtx_lock(&a);
	return unused;
}

int main(void) {
	both(forth, back);
	return a.locked + b.locked != 4;
}
