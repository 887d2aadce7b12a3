// The halves share plain data and nest locks in opposite orders, but a System V message sent after the first is received before the second.
// watch: data
#include "halves.h"
#include <sys/ipc.h>
#include <sys/msg.h>

static int q;
struct message { long type; char text[8]; };

static void *first(void *unused) {
	struct message m = {.type = 3};
	early();
	rest(15);
	need(!msgsnd(q, &m, sizeof m.text, 0), "msgsnd");
	return unused;
}

static void *second(void *unused) {
	struct message m;
	if (msgrcv(q, &m, sizeof m.text, 3, 0) >= 0)
		late();
	return unused;
}

int main(void) {
	q = msgget(IPC_PRIVATE, 0600);
	need(q >= 0, "msgget");
	both(first, second);
	msgctl(q, IPC_RMID, NULL);
	return data != 42;
}
