#include <pthread.h>

/* A library that is loaded late: it has a lock of its own, and pthread's. */

volatile int plugin_word;
pthread_mutex_t plugin_mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void plugin_lock(volatile int *word)
{
	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
		;
}

__attribute__((noinline)) void plugin_unlock(volatile int *word) { __atomic_store_n(word, 0, __ATOMIC_RELEASE); }

void plugin_work(void)
{
	plugin_lock(&plugin_word);
	pthread_mutex_lock(&plugin_mutex);
	pthread_mutex_unlock(&plugin_mutex);
	plugin_unlock(&plugin_word);
}
