// The turns of library_turns.c. Nothing in this library is probed: what takes the lock is the C library.
#include <pthread.h>

pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

void take_turn(void)
{
	pthread_mutex_lock(&library_lock);
	pthread_mutex_unlock(&library_lock);
}
