// Two threads take two System V semaphores named in opposite orders, but semop takes both at once or none; mutexes nested inside are so kept apart.
#include "turns.h"
#include <sys/ipc.h>
#include <sys/sem.h>

static pthread_mutex_t rows = PTHREAD_MUTEX_INITIALIZER, columns = PTHREAD_MUTEX_INITIALIZER;
static int set;

static void change(int first, int second, int by) {
	struct sembuf op[2] = {{.sem_num = first, .sem_op = by}, {.sem_num = second, .sem_op = by}};
	need(!semop(set, op, 2), "semop");
}

static void *forth(void *unused) {
	change(0, 1, -1);
	nest(&rows, &columns);
	change(0, 1, 1);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	change(1, 0, -1);
	nest(&columns, &rows);
	change(1, 0, 1);
	return unused;
}

int main(void) {
	set = semget(IPC_PRIVATE, 2, 0600);
	need(set >= 0, "semget");
	change(0, 1, 1);
	both(forth, back);
	semctl(set, 0, IPC_RMID);
	return 0;
}
