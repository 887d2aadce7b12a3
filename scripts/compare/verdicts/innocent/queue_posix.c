// The halves share plain data and nest locks in opposite orders, but a POSIX message sent after the first is received before the second.
// watch: data
#include "halves.h"
#include <fcntl.h>
#include <mqueue.h>
#include <unistd.h>

static mqd_t q;

static void *first(void *unused) {
	early();
	rest(15);
	mq_send(q, "go", 2, 1);
	return unused;
}

static void *second(void *unused) {
	char text[8];
	if (mq_receive(q, text, sizeof text, NULL) == 2)
		late();
	return unused;
}

int main(void) {
	char name[64];
	snprintf(name, sizeof name, "/innocent-queue-%d", getpid());
	struct mq_attr size = {.mq_maxmsg = 2, .mq_msgsize = 8};
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &size);
	need(q >= 0, "mq_open");
	mq_unlink(name);
	both(first, second);
	mq_close(q);
	return data != 42;
}
