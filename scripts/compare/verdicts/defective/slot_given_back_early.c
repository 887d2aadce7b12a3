// A worker gives its slot back by a compare-exchange and reads it once more: the next owner may be writing it.
//
// expect: race slots
// watch: shared
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "fortune.h"

static struct {
	long request, reply;
} slots[1];
static atomic_int owner;

static int claim(int me) {
	int nobody = 0;
	while (!atomic_compare_exchange_strong(&owner, &nobody, me)) {
		nobody = 0;
		nanoseconds(100000);
	}
	return 0;
}

static void *client(void *p) {
	int me = (int)(long)p;
	later(me - 1);
	int s = claim(me);
	slots[s].request = me;
	slots[s].reply = slots[s].request * 2;
	atomic_store(&owner, 0);
	chance();
	printf("%d got %ld\n", me, slots[s].reply);
	return 0;
}

int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, client, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
