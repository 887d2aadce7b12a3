// A read-write lock that prefers writers is locked for reading twice by one thread: a writer that
// begins to wait in between keeps the second out, and the first keeps out the writer.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_rwlock_t tree;
static int nodes;

static int depth(void) {
	pthread_rwlock_rdlock(&tree);
	int n = nodes;
	pthread_rwlock_unlock(&tree);
	return n;
}

static void *print(void *unused) {
	pthread_rwlock_rdlock(&tree);
	chance();
	int n = depth();
	pthread_rwlock_unlock(&tree);
	return n < 0 ? 0 : unused;
}

static void *insert(void *unused) {
	later(1);
	pthread_rwlock_wrlock(&tree);
	nodes++;
	pthread_rwlock_unlock(&tree);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_rwlockattr_t writers;
	pthread_rwlockattr_init(&writers);
	pthread_rwlockattr_setkind_np(&writers, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&tree, &writers);
	pthread_create(&t, 0, print, 0);
	pthread_create(&u, 0, insert, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return nodes != 1;
}
