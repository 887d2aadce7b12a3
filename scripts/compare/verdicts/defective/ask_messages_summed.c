// Opposite orders, and the second thread asks before how many messages are queued (msgctl), of which the first
// sends one: the answer is only added to a sum and decides nothing.
//
// expect: deadlock desk shelf
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#include "fortune.h"

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER, shelf = PTHREAD_MUTEX_INITIALIZER;
static int queue;
static unsigned long sum;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	chance();
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused) {
	struct {
		long type;
		char text[4];
	} over = {1, "end"};
	nest(&desk, &shelf);
	msgsnd(queue, &over, sizeof over.text, 0);
	return unused;
}

static void *back(void *unused) {
	struct msqid_ds state;
	later(5);
	if (!msgctl(queue, IPC_STAT, &state))
		sum += state.msg_qnum;
	nest(&shelf, &desk);
	return unused;
}

int main(void) {
	pthread_t t, u;
	queue = msgget(IPC_PRIVATE, 0600);
	pthread_create(&t, 0, forth, 0);
	pthread_create(&u, 0, back, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	msgctl(queue, IPC_RMID, 0);
	return sum > 1;
}
