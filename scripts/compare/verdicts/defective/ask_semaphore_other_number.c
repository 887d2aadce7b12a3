// Opposite orders: one thread sets the first semaphore of a set when it is through, the other goes on if the second
// semaphore has a value (semctl), which it has from the beginning.
//
// expect: deadlock left right
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "fortune.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int set;

static void *forth(void *unused) {
	pthread_mutex_lock(&left);
	chance();
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
	semctl(set, 0, SETVAL, 1);
	return unused;
}

static void *back(void *unused) {
	later(5);
	if (semctl(set, 1, GETVAL) != 1)
		return unused;
	pthread_mutex_lock(&right);
	chance();
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	return unused;
}

int main(void) {
	pthread_t t, u;
	set = semget(IPC_PRIVATE, 2, 0600);
	if (set < 0 || semctl(set, 0, SETVAL, 0) || semctl(set, 1, SETVAL, 1))
		return 1;
	pthread_create(&t, 0, forth, 0);
	pthread_create(&u, 0, back, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	semctl(set, 0, IPC_RMID);
	return 0;
}
