/* Hands a variable to another thread through a library's queue. */
#include <pthread.h>

struct ring *ring_new(void);
void ring_put(struct ring *, void *);
void *ring_get(struct ring *);

volatile int parcel;

static void *receiver(void *ring)
{
	int *got = ring_get(ring);

	parcel++;
	return got;
}

int main(void)
{
	struct ring *r = ring_new();
	pthread_t t;

	pthread_create(&t, 0, receiver, r);
	parcel = 4;
	ring_put(r, (void *)&parcel);
	pthread_join(t, 0);
	return parcel != 5;
}
