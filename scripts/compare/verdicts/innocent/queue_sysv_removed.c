// The second thread never gets a message: msgrcv fails with EIDRM because the first removed the queue after its half.
// watch: data
#include "halves.h"
#include <errno.h>
#include <sys/ipc.h>
#include <sys/msg.h>

static int q;
struct message { long type; char text[8]; };

static void *first(void *unused) {
	early();
	rest(15);
	msgctl(q, IPC_RMID, NULL);
	return unused;
}

static void *second(void *unused) {
	struct message m;
	if (msgrcv(q, &m, sizeof m.text, 0, 0) < 0 && (errno == EIDRM || errno == EINVAL))
		late();
	return unused;
}

int main(void) {
	q = msgget(IPC_PRIVATE, 0600);
	need(q >= 0, "msgget");
	both(first, second);
	return data != 42;
}
