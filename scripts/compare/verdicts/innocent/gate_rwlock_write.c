// Readers nest two mutexes one way and a writer the other way, but the writer holds the reader-writer lock for writing, which keeps the readers out.
#include "turns.h"

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t x = PTHREAD_MUTEX_INITIALIZER, y = PTHREAD_MUTEX_INITIALIZER;

static void *reads(void *unused) {
	pthread_rwlock_rdlock(&gate);
	nest(&x, &y);
	pthread_rwlock_unlock(&gate);
	return unused;
}

static void *writes(void *unused) {
	rest(15);
	pthread_rwlock_wrlock(&gate);
	nest(&y, &x);
	pthread_rwlock_unlock(&gate);
	return unused;
}

int main(void) {
	pthread_t t = start(reads, NULL);
	both(reads, writes);
	pthread_join(t, NULL);
	return 0;
}
