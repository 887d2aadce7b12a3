// Two threads read 'table' and take 'log', in opposite orders, and a third one writes:
// one after the other, by a plain flag. Only if a reader waits behind a writer can
// they block each other.
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int turn;

static void await(int mine) {
	struct timespec t = {0, 1000000};
	while (turn != mine)
		nanosleep(&t, NULL);
}

static void *table_first(void *unused) {
	await(0);
	pthread_rwlock_rdlock(&table);
	pthread_mutex_lock(&log_lock);
	pthread_mutex_unlock(&log_lock);
	pthread_rwlock_unlock(&table);
	turn = 1;
	return unused;
}

static void *log_first(void *unused) {
	await(1);
	pthread_mutex_lock(&log_lock);
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
	pthread_mutex_unlock(&log_lock);
	turn = 2;
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
