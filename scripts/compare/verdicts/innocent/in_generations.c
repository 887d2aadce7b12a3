// Threads of two generations nest locks in opposite orders and share plain data, but the last of one is joined before the first of the next is created.
// watch: data
#include "halves.h"

static void *parent(void *unused) {
	early();
	return unused;
}

static void *child(void *unused) {
	late();
	return unused;
}

int main(void) {
	pthread_join(start(parent, NULL), NULL);
	rest(10);
	pthread_join(start(child, NULL), NULL);
	return data != 42;
}
