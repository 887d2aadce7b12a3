// A reader becomes a writer of the same lock, but it lets go of the read lock before and tests again behind.
// watch: filled
#include "turns.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int filled;

static void *fills(void *unused) {
	pthread_rwlock_rdlock(&lock);
	int seen = filled;
	pthread_rwlock_unlock(&lock);
	if (seen)
		return unused;
	pthread_rwlock_wrlock(&lock);
	if (!filled)
		filled = 1;
	pthread_rwlock_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t = start(fills, NULL);
	rest(5);
	both(fills, fills);
	pthread_join(t, NULL);
	return !filled;
}
