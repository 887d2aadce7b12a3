#include <pthread.h>

pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void first(void)
{
	pthread_mutex_lock(&library_lock);
	pthread_mutex_unlock(&library_lock);
}
