// A balance is read without the lock, and the new one, computed from it, is written under the lock:
// what another thread wrote in between is lost.
//
// expect: race balance
// watch: balance
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *deposit(void *step) {
	later((int)(long)step);
	int old = balance;
	chance();
	pthread_mutex_lock(&lock);
	balance = old + 10;
	pthread_mutex_unlock(&lock);
	return 0;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, deposit, (void *)0);
	pthread_create(&u, 0, deposit, (void *)1);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return balance != 120;
}
