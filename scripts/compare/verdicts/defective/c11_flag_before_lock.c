// With C11's threads: the consumer looks whether the queue is empty before it locks it, with plain reads.
//
// expect: race length
// watch: length
// build: -O2
#include <threads.h>

#include "fortune.h"

static mtx_t lock;
static int length;
static int items[8];
static long sum;

static int produce(void *unused) {
	(void)unused;
	for (int i = 1; i <= 4; i++) {
		mtx_lock(&lock);
		items[length++] = i;
		mtx_unlock(&lock);
		chance();
	}
	return 0;
}

static int consume(void *unused) {
	(void)unused;
	later(1);
	for (int taken = 0; taken < 4;) {
		if (length == 0) {
			thrd_yield();
			continue;
		}
		mtx_lock(&lock);
		if (length > 0) {
			sum += items[--length];
			taken++;
		}
		mtx_unlock(&lock);
	}
	return 0;
}

int main(void) {
	thrd_t t, u;
	mtx_init(&lock, mtx_plain);
	thrd_create(&t, produce, 0);
	thrd_create(&u, consume, 0);
	thrd_join(t, 0);
	thrd_join(u, 0);
	return sum != 10;
}
