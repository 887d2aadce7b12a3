// Opposite orders that both begin under a gate lock, but one thread gives the gate back before it
// locks its second lock.
//
// expect: deadlock plan stock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t plan = PTHREAD_MUTEX_INITIALIZER, stock = PTHREAD_MUTEX_INITIALIZER;
static int orders;

static void *order(void *unused) {
	pthread_mutex_lock(&gate);
	pthread_mutex_lock(&plan);
	pthread_mutex_unlock(&gate);
	chance();
	pthread_mutex_lock(&stock);
	orders++;
	pthread_mutex_unlock(&stock);
	pthread_mutex_unlock(&plan);
	return unused;
}

static void *deliver(void *unused) {
	later(1);
	pthread_mutex_lock(&gate);
	pthread_mutex_lock(&stock);
	chance();
	pthread_mutex_lock(&plan);
	orders--;
	pthread_mutex_unlock(&plan);
	pthread_mutex_unlock(&stock);
	pthread_mutex_unlock(&gate);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, order, 0);
	pthread_create(&u, 0, deliver, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return orders;
}
