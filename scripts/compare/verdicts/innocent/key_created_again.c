// What belongs to a key of thread-specific data lies in a table by the key, under no lock: a thread counts in it while it has the key and deletes that afterwards, and only then is another thread given the key again.
#include "turns.h"

static long uses[1024];

static void *counts(void *unused) {
	pthread_key_t key;
	need(!pthread_key_create(&key, NULL) && key < 1024, "pthread_key_create");
	uses[key]++;
	pthread_key_delete(key);
	return unused;
}

static void *later(void *unused) {
	rest(80);
	return counts(unused);
}

int main(void) {
	both(counts, later);
	return 0;
}
