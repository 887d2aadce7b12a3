/* A library with two locks, which its function nests. */
#include <pthread.h>

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

void use(void)
{
	pthread_mutex_lock(&OUTER);
	pthread_mutex_lock(&INNER);
	pthread_mutex_unlock(&INNER);
	pthread_mutex_unlock(&OUTER);
}
