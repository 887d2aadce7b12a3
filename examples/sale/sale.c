// A shop sells an article: the seller looks how many there are, and enters the new number, each under the lock of the stock.
// At closing time the rest goes back. Only speed makes that come after the sale: in between, the sale would bring back
// what is gone.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

// As if it were in a library: the compiler does not look into it where it is called.
#define KEEP __attribute__((noipa))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stock = 3;

KEEP int sell(void)
{
	pthread_mutex_lock(&lock);
	int left = stock;
#ifndef HOLD
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
#endif
	stock = --left;
	pthread_mutex_unlock(&lock);
	return left;
}

static void *seller(void *arg)
{
	sell();
	return arg;
}

static void *closing(void *arg)
{
	usleep(200000); // time enough for a sale
	pthread_mutex_lock(&lock);
	stock = 0;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	if (pthread_create(&a, NULL, seller, NULL) || pthread_create(&b, NULL, closing, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d left\n", stock);
	return 0;
}
