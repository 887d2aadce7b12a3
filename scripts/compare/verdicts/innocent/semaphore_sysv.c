// Two threads change a plain variable under no mutex, but each holds the only permit of a System V semaphore.
// watch: total
#include "turns.h"
#include <sys/ipc.h>
#include <sys/sem.h>

static long total;
static int set;

static void change(int by) {
	struct sembuf op = {.sem_op = by};
	need(!semop(set, &op, 1), "semop");
}

static void *adds(void *unused) {
	for (int i = 0; i < 4; i++) {
		change(-1);
		total++;
		change(1);
		rest(4);
	}
	return unused;
}

int main(void) {
	set = semget(IPC_PRIVATE, 1, 0600);
	need(set >= 0, "semget");
	change(1);
	both(adds, adds);
	semctl(set, 0, IPC_RMID);
	return total != 8;
}
