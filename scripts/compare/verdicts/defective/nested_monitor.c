// A nested monitor: the consumer waits with the inner mutex while it holds the outer one, which the
// producer locks before it can signal. In the run the producer had left the outer one before the
// consumer took it.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t shop = PTHREAD_MUTEX_INITIALIZER, shelf = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int orders, goods;

static void *produce(void *unused) {
	chance();
	pthread_mutex_lock(&shop);
	orders++;
	pthread_mutex_unlock(&shop);
	later(2);
	pthread_mutex_lock(&shelf);
	goods++;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&shelf);
	return unused;
}

static void *consume(void *unused) {
	later(1);
	pthread_mutex_lock(&shop);
	pthread_mutex_lock(&shelf);
	while (!goods)
		pthread_cond_wait(&filled, &shelf);
	goods--;
	pthread_mutex_unlock(&shelf);
	pthread_mutex_unlock(&shop);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, produce, 0);
	pthread_create(&u, 0, consume, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return goods;
}
