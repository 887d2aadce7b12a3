// The flag that orders the halves is an atomic member deep in a static structure, among plain ones.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static struct {
	int port;
	struct {
		char name[12];
		atomic_int state;
	} link;
} server;

static void *first(void *unused) {
	early();
	server.port = 80;
	rest(15);
	atomic_store_explicit(&server.link.state, 3, memory_order_release);
	return unused;
}

static void *second(void *unused) {
	while (atomic_load_explicit(&server.link.state, memory_order_acquire) != 3)
		rest(1);
	late();
	return server.port == 80 ? unused : &server;
}

int main(void) {
	both(first, second);
	return data != 42;
}
