// Three threads take three reader-writer locks round in a ring, but all for reading, and no thread ever asks for writing.
#include "turns.h"

static pthread_rwlock_t l[3] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};

static void *reads(void *p) {
	long i = (long)p;
	rest(5 * i);
	pthread_rwlock_rdlock(&l[i]);
	pthread_rwlock_rdlock(&l[(i + 1) % 3]);
	rest(4);
	pthread_rwlock_unlock(&l[(i + 1) % 3]);
	pthread_rwlock_unlock(&l[i]);
	return NULL;
}

int main(void) {
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		t[i] = start(reads, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
