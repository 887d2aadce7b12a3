// A thread takes a read lock again that it holds while a writer may wait, but the lock prefers readers, so that the second one is granted.
// watch: value
#include "turns.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *reads(void *unused) {
	pthread_rwlock_rdlock(&lock);
	int before = value;
	rest(10);
	pthread_rwlock_rdlock(&lock);
	int after = value;
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_unlock(&lock);
	return before == after ? unused : &lock;
}

static void *writes(void *unused) {
	rest(5);
	pthread_rwlock_wrlock(&lock);
	value++;
	pthread_rwlock_unlock(&lock);
	return unused;
}

int main(void) {
	both(reads, writes);
	return value != 1;
}
