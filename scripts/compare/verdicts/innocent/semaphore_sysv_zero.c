// The second half waits for a System V semaphore to become zero (sem_op 0), which the first thread's decrement after its half brings about.
// watch: data
#include "halves.h"
#include <sys/ipc.h>
#include <sys/sem.h>

static int set;

static void change(int by) {
	struct sembuf op = {.sem_op = by};
	need(!semop(set, &op, 1), "semop");
}

static void *first(void *unused) {
	early();
	rest(15);
	change(-1);
	return unused;
}

static void *second(void *unused) {
	change(0);
	late();
	return unused;
}

int main(void) {
	set = semget(IPC_PRIVATE, 1, 0600);
	need(set >= 0, "semget");
	change(1);
	both(first, second);
	semctl(set, 0, IPC_RMID);
	return data != 42;
}
