// Two flags share one atomic word; the halves are ordered by one bit of it, set by fetch_or, while other threads toggle the other.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static atomic_uint word;

static void *first(void *unused) {
	early();
	rest(15);
	atomic_fetch_or(&word, 4);
	return unused;
}

static void *toggles(void *unused) {
	for (int i = 0; i < 10; i++) {
		atomic_fetch_xor(&word, 1);
		rest(2);
	}
	return unused;
}

static void *second(void *unused) {
	while (!(atomic_load(&word) & 4))
		rest(1);
	late();
	return unused;
}

int main(void) {
	pthread_t t = start(toggles, NULL);
	both(first, second);
	pthread_join(t, NULL);
	return data != 42;
}
