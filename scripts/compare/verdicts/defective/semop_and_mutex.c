// A System V semaphore serves as a lock and is taken within a mutex by one thread, while the other locks the mutex
// within the semaphore, taken for both its steps by one semop each.
//
// expect: deadlock
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "fortune.h"

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static int printer;

static void printer_change(short by) {
	struct sembuf operation = {0, by, SEM_UNDO};
	semop(printer, &operation, 1);
}

static void *prints(void *unused) {
	printer_change(-1);
	chance();
	pthread_mutex_lock(&ledger);
	pthread_mutex_unlock(&ledger);
	printer_change(1);
	return unused;
}

static void *books(void *unused) {
	later(5);
	pthread_mutex_lock(&ledger);
	chance();
	printer_change(-1);
	printer_change(1);
	pthread_mutex_unlock(&ledger);
	return unused;
}

int main(void) {
	pthread_t t, u;
	printer = semget(IPC_PRIVATE, 1, 0600);
	semctl(printer, 0, SETVAL, 1);
	pthread_create(&t, 0, prints, 0);
	pthread_create(&u, 0, books, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	semctl(printer, 0, IPC_RMID);
	return 0;
}
