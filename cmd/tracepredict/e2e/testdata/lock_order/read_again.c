// Two threads read 'table', one of them twice, one inside the other, and a third one writes: one after the
// other, which only time orders. Whether the writer can come between the two reads and block them
// for ever is a matter of the lock's kind, the program's argument.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_rwlock_t table;

static void await(int turn) {
	struct timespec t = {0, turn * 40000000L};
	nanosleep(&t, NULL);
}

static void *reader(void *unused) {
	await(0);
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
	pthread_rwlock_unlock(&table);
	return unused;
}

static void *other_reader(void *unused) {
	await(1);
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
	return unused;
}

static void *writer(void *unused) {
	await(2);
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	return unused;
}

int main(int argc, char **argv) {
	pthread_t t[3];
	pthread_rwlockattr_t attr;
	void *(*const run[3])(void *) = {reader, other_reader, writer};
	pthread_rwlockattr_init(&attr);
	if (argc > 1)
		pthread_rwlockattr_setkind_np(&attr, atoi(argv[1]));
	pthread_rwlock_init(&table, &attr);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
