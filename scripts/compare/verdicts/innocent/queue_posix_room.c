// The second thread only sends, but the queue has room for one message and is full until the first thread, after its half, receives that.
// watch: data
#include "halves.h"
#include <fcntl.h>
#include <mqueue.h>
#include <unistd.h>

static mqd_t q;

static void *first(void *unused) {
	char text[8];
	early();
	rest(15);
	mq_receive(q, text, sizeof text, NULL);
	return unused;
}

static void *second(void *unused) {
	if (!mq_send(q, "b", 1, 0))
		late();
	return unused;
}

int main(void) {
	char name[64];
	snprintf(name, sizeof name, "/innocent-full-%d", getpid());
	struct mq_attr size = {.mq_maxmsg = 1, .mq_msgsize = 8};
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &size);
	need(q >= 0, "mq_open");
	mq_unlink(name);
	mq_send(q, "a", 1, 0);
	both(first, second);
	mq_close(q);
	return data != 42;
}
