/* The innocent twin of sample.c: pthread calls only. */
#include <pthread.h>

int shared;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
	pthread_mutex_lock(&m);
	shared++;
	pthread_mutex_unlock(&m);
	return 0;
}
