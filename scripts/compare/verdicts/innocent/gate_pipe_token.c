// Two threads nest mutexes in opposite orders, but each first takes the only token, a byte, out of a pipe and puts it back at its end.
#include "turns.h"
#include <unistd.h>

static int token[2];
static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;

static void section(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	char c;
	need(read(token[0], &c, 1) == 1, "read");
	nest(outer, inner);
	need(write(token[1], &c, 1) == 1, "write");
}

static void *forth(void *unused) {
	section(&p, &q);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	section(&q, &p);
	return unused;
}

int main(void) {
	need(!pipe(token) && write(token[1], "t", 1) == 1, "pipe");
	both(forth, back);
	return 0;
}
