// A job's input is set when the job is in the ring buffer, where a worker may already have taken it.
//
// expect: race input
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

static void rest(long milliseconds) {
	nanoseconds(1000000 * milliseconds);
}

static pthread_t start(void *(*r)(void *), void *p) {
	pthread_t t;
	pthread_create(&t, 0, r, p);
	return t;
}

struct job {
	long input, result;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job *ring[4];
static unsigned head, count;
static int closed;

static int put(struct job *j) {
	pthread_mutex_lock(&lock);
	int room = count < 4;
	if (room)
		ring[(head + count++) % 4] = j;
	pthread_mutex_unlock(&lock);
	return room;
}

static struct job *take(int *over) {
	struct job *j = NULL;
	pthread_mutex_lock(&lock);
	if (count > 0) {
		j = ring[head];
		head = (head + 1) % 4;
		count--;
	}
	*over = closed && !j;
	pthread_mutex_unlock(&lock);
	return j;
}

static void *works(void *p) {
	long *sum = p;
	rest(3);
	for (int over = 0; !over; rest(5)) {
		struct job *j = take(&over);
		if (!j)
			continue;
		j->result = j->input * 2;
		*sum += j->result;
	}
	return NULL;
}

static void *submits(void *unused) {
	for (long n = 1; n <= 8; n++) {
		struct job *j = calloc(1, sizeof *j);
		while (!put(j))
			rest(2);
		chance();
		j->input = n;
		rest(8);
	}
	pthread_mutex_lock(&lock);
	closed = 1;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	long sums[32] = {0};
	pthread_t s = start(submits, NULL), t = start(works, &sums[0]), u = start(works, &sums[16]);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return sums[0] + sums[16] < 2;
}
