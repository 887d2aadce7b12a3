// A reader gives its read lock back twice, the second time on behalf of another reader, who
// believes itself alone.
//
// expect: misuse map
#include <pthread.h>

#include "fortune.h"

static pthread_rwlock_t map = PTHREAD_RWLOCK_INITIALIZER;
static int keys = 1;

static void *twice(void *unused) {
	later(1);
	pthread_rwlock_rdlock(&map);
	keys += 0;
	pthread_rwlock_unlock(&map);
	pthread_rwlock_unlock(&map);
	return unused;
}

static void *reader(void *unused) {
	pthread_rwlock_rdlock(&map);
	later(2);
	pthread_rwlock_unlock(&map);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, twice, 0);
	pthread_create(&u, 0, reader, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return keys != 1;
}
