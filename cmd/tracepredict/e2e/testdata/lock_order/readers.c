// Two threads read 'table' and take 'log', in opposite orders, and a third one writes:
// one after the other, which only time orders. Only if a reader waits behind a writer can
// they block each other.
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void await(int turn) {
	struct timespec t = {0, turn * 40000000L};
	nanosleep(&t, NULL);
}

static void *table_first(void *unused) {
	await(0);
	pthread_rwlock_rdlock(&table);
	pthread_mutex_lock(&log_lock);
	pthread_mutex_unlock(&log_lock);
	pthread_rwlock_unlock(&table);
	return unused;
}

static void *log_first(void *unused) {
	await(1);
	pthread_mutex_lock(&log_lock);
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
	pthread_mutex_unlock(&log_lock);
	return unused;
}

static void *writer(void *unused) {
	await(2);
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	return unused;
}

int main(void) {
	pthread_t t[3];
	void *(*const run[3])(void *) = {table_first, log_first, writer};
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
