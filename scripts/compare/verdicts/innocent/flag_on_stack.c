// The flag that orders the halves is an atomic local variable of main, whose address both threads got.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static void *first(void *p) {
	atomic_int *open = p;
	early();
	rest(15);
	*open = 1;
	return NULL;
}

static void *second(void *p) {
	atomic_int *open = p;
	while (!*open)
		rest(1);
	late();
	return NULL;
}

int main(void) {
	atomic_int open = 0;
	pthread_t s = start(first, &open), t = start(second, &open);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return data != 42;
}
