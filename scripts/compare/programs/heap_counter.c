// Two threads increment a counter in a structure on the heap without a lock, at different times.
//
// expect: race
#include "threads.h"

struct desk {
	pthread_mutex_t lock;
	int sold;
};

static void *sell(void *argument) {
	struct desk *desk = argument;
	desk->sold++;
	return argument;
}

static void *sell_later(void *argument) {
	later(1);
	return sell(argument);
}

int main(void) {
	struct desk *desk = calloc(1, sizeof *desk);
	pthread_t first, second;
	if (!desk || pthread_create(&first, NULL, sell, desk) || pthread_create(&second, NULL, sell_later, desk))
		return 1;
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	int sold = desk->sold;
	free(desk);
	return sold != 2;
}
