// Opposite orders of locks that the program makes of POSIX mutexes under the names of C11, as
// TinyCThread does: a flag and the mutex behind it, so that the names are not those of the C
// library's functions.
//
// expect: deadlock
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

typedef struct {
	long kind;
	int locked;
	pthread_mutex_t inner;
} mtx_t;

struct begin {
	int (*function)(void *);
	void *argument;
};

__attribute__((noinline)) int mtx_init(mtx_t *m, int kind) {
	m->kind = kind;
	m->locked = 0;
	return pthread_mutex_init(&m->inner, 0);
}

__attribute__((noinline)) int mtx_lock(mtx_t *m) {
	int result = pthread_mutex_lock(&m->inner);
	m->locked = 1;
	return result;
}

__attribute__((noinline)) int mtx_unlock(mtx_t *m) {
	m->locked = 0;
	return pthread_mutex_unlock(&m->inner);
}

static void *wrapper(void *argument) {
	struct begin begin = *(struct begin *)argument;
	free(argument);
	return (void *)(long)begin.function(begin.argument);
}

__attribute__((noinline)) int thrd_create(pthread_t *t, int (*function)(void *), void *argument) {
	struct begin *begin = malloc(sizeof *begin);
	*begin = (struct begin){function, argument};
	return pthread_create(t, 0, wrapper, begin);
}

static mtx_t hall, stairs;

static int up(void *unused) {
	(void)unused;
	mtx_lock(&hall);
	chance();
	mtx_lock(&stairs);
	return mtx_unlock(&stairs) + mtx_unlock(&hall);
}

static int down(void *unused) {
	(void)unused;
	later(1);
	mtx_lock(&stairs);
	chance();
	mtx_lock(&hall);
	return mtx_unlock(&hall) + mtx_unlock(&stairs);
}

int main(void) {
	pthread_t t, u;
	if (mtx_init(&hall, 1) || mtx_init(&stairs, 1) || thrd_create(&t, up, 0) || thrd_create(&u, down, 0))
		return 1;
	return pthread_join(t, 0) + pthread_join(u, 0);
}
