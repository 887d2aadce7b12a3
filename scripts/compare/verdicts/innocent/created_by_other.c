// Neither thread joins or waits for the other, but the one of the second half is created by the one of the first, and passed to main to be joined.
// watch: data
#include "halves.h"

static pthread_t grandchild;

static void *second(void *unused) {
	late();
	return unused;
}

static void *first(void *unused) {
	early();
	grandchild = start(second, NULL);
	return unused;
}

int main(void) {
	pthread_t t = start(first, NULL);
	pthread_join(t, NULL);
	pthread_join(grandchild, NULL);
	return data != 42;
}
