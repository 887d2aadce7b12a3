// A destructor of thread-specific data does the first half after the thread's routine has returned, but still before the join returns.
// watch: data
#include "halves.h"

static pthread_key_t key;

static void destroy(void *value) { early(); }

static void *first(void *unused) {
	pthread_setspecific(key, &key);
	return unused;
}

int main(void) {
	pthread_key_create(&key, destroy);
	pthread_t t = start(first, NULL);
	rest(10);
	pthread_join(t, NULL);
	late();
	pthread_key_delete(key);
	return data != 42;
}
