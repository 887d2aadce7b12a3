#include "say.h"

/* A thread ends with robust mutexes held: the next ones have them all the same. */

static pthread_mutex_t x[4];

static void *dies(void *arg)
{
	for (int i = 0; i < 4; i++)
		MUST(pthread_mutex_lock(&x[i]) == 0);
	return arg;
}

int main(void)
{
	static const char *names[] = {"plain", "tried", "recursive", "lost"};
	pthread_mutexattr_t a;
	pthread_t t;

	for (int i = 0; i < 4; i++) {
		pthread_mutexattr_init(&a);
		pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
		pthread_mutexattr_settype(&a, i == 2 ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
		name_is(&x[i], names[i]);
		MUST(pthread_mutex_init(&x[i], &a) == 0);
	}
	MUST(pthread_create(&t, NULL, dies, NULL) == 0);
	MUST(pthread_join(t, NULL) == 0);
	MUST(pthread_mutex_lock(&x[0]) == EOWNERDEAD);
	MUST(pthread_mutex_trylock(&x[1]) == EOWNERDEAD);
	MUST(pthread_mutex_lock(&x[2]) == EOWNERDEAD);
	for (int i = 0; i < 3; i++) {
		MUST(pthread_mutex_consistent(&x[i]) == 0);
		MUST(pthread_mutex_unlock(&x[i]) == 0);
	}
	MUST(pthread_mutex_lock(&x[3]) == EOWNERDEAD);
	MUST(pthread_mutex_unlock(&x[3]) == 0);
	MUST(pthread_mutex_lock(&x[3]) == ENOTRECOVERABLE);
	return 0;
}
