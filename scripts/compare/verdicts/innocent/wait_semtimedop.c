// The second half first takes a unit of a System V semaphore by semtimedop, again and again, and the first half gives it when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <sys/sem.h>

static int id;

static void *first(void *unused) {
	early();
	struct sembuf up = {0, 1, 0};
	semop(id, &up, 1);
	return unused;
}

static void *second(void *unused) {
	struct sembuf down = {0, -1, 0};
	struct timespec t = {0, 1000000};
	while (semtimedop(id, &down, 1, &t))
		;
	semctl(id, 0, IPC_RMID);
	late();
	return unused;
}

int main(void) {
	id = semget(IPC_PRIVATE, 1, 0600);
	both(first, second);
	return 0;
}
