// Under a read lock, in a helper that returns a structure, the second thread learns that the first half is over; otherwise it does nothing.
// watch: data
// build: -O2
#include "halves.h"

struct status { long serial; int a, b, over; };
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct status status;

__attribute__((noinline)) static struct status get(void) {
	pthread_rwlock_rdlock(&lock);
	struct status s = status;
	pthread_rwlock_unlock(&lock);
	return s;
}

static void *first(void *unused) {
	early();
	pthread_rwlock_wrlock(&lock);
	status.serial++;
	status.over = 1;
	pthread_rwlock_unlock(&lock);
	return unused;
}

static void *second(void *unused) {
	rest(20);
	struct status s = get();
	for (int i = 0; i < s.over; i++)
		late();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
