// main returns while it holds a mutex and a lock that no other thread ever uses: nobody can miss their unlock.
#include "turns.h"

static pthread_mutex_t options = PTHREAD_MUTEX_INITIALIZER, results = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static long total;

static void *adds(void *unused) {
	pthread_mutex_lock(&results);
	total++;
	pthread_mutex_unlock(&results);
	return unused;
}

int main(void) {
	pthread_mutex_lock(&options);
	pthread_rwlock_wrlock(&table);
	both(adds, adds);
	return total != 2;
}
