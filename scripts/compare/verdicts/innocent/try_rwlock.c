// A reader asks for the write lock while it holds a mutex that writers take inside theirs, but only by trywrlock, and gives way if it is refused.
#include "turns.h"

static pthread_rwlock_t tree = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t stats = PTHREAD_MUTEX_INITIALIZER;

static void *writes(void *unused) {
	pthread_rwlock_wrlock(&tree);
	pthread_mutex_lock(&stats);
	pthread_mutex_unlock(&stats);
	pthread_rwlock_unlock(&tree);
	return unused;
}

static void *counts(void *unused) {
	rest(15);
	pthread_mutex_lock(&stats);
	if (!pthread_rwlock_trywrlock(&tree))
		pthread_rwlock_unlock(&tree);
	else if (!pthread_rwlock_tryrdlock(&tree))
		pthread_rwlock_unlock(&tree);
	pthread_mutex_unlock(&stats);
	return unused;
}

int main(void) {
	both(writes, counts);
	return 0;
}
