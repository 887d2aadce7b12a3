// A desk on the heap counts what was sold: one thread counts under the desk's lock, the other
// without it.
//
// expect: race sold
// watch: sold of struct desk
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

struct desk {
	pthread_mutex_t lock;
	int sold;
};

static void *sell(void *argument) {
	struct desk *desk = argument;
	pthread_mutex_lock(&desk->lock);
	desk->sold++;
	pthread_mutex_unlock(&desk->lock);
	return argument;
}

static void *refund(void *argument) {
	struct desk *desk = argument;
	later(1);
	desk->sold--;
	return argument;
}

int main(void) {
	struct desk *desk = calloc(1, sizeof *desk);
	pthread_t t, u;
	pthread_mutex_init(&desk->lock, 0);
	pthread_create(&t, 0, sell, desk);
	pthread_create(&u, 0, refund, desk);
	pthread_join(t, 0);
	pthread_join(u, 0);
	int sold = desk->sold;
	free(desk);
	return sold;
}
