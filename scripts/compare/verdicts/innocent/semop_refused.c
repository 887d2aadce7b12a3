// A System V semaphore serves as a lock: one thread asks for it within a mutex, the other locks the mutex within it, but who is refused the semaphore (IPC_NOWAIT) lets go of the mutex.
#define _GNU_SOURCE
#include "turns.h"
#include <sys/ipc.h>
#include <sys/sem.h>

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static int printer;

static int change(short by, short flags) {
	struct sembuf operation = {0, by, flags};
	return semop(printer, &operation, 1);
}

static void *prints(void *unused) {
	change(-1, 0);
	pthread_mutex_lock(&ledger);
	pthread_mutex_unlock(&ledger);
	change(1, 0);
	return unused;
}

static void *books(void *unused) {
	rest(200);
	pthread_mutex_lock(&ledger);
	if (!change(-1, IPC_NOWAIT))
		change(1, 0);
	pthread_mutex_unlock(&ledger);
	return unused;
}

int main(void) {
	printer = semget(IPC_PRIVATE, 1, 0600);
	need(printer >= 0 && !semctl(printer, 0, SETVAL, 1), "semget");
	both(prints, books);
	semctl(printer, 0, IPC_RMID);
	return 0;
}
