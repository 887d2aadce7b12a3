// Jobs are filled and changed under no lock by two threads, but their addresses go through a POSIX message queue, one owner at a time.
// watch: size of struct job
#include "turns.h"
#include <fcntl.h>
#include <mqueue.h>
#include <unistd.h>

struct job { long size; };
static mqd_t q;

static void *makes(void *unused) {
	for (int i = 0; i < 4; i++) {
		struct job *j = malloc(sizeof *j);
		j->size = i;
		mq_send(q, (char *)&j, sizeof j, 0);
		rest(3);
	}
	return unused;
}

static void *uses(void *unused) {
	for (int i = 0; i < 4; i++) {
		struct job *j;
		need(mq_receive(q, (char *)&j, sizeof j, NULL) == sizeof j, "mq_receive");
		j->size *= 2;
		free(j);
	}
	return unused;
}

int main(void) {
	char name[64];
	snprintf(name, sizeof name, "/innocent-jobs-%d", getpid());
	struct mq_attr size = {.mq_maxmsg = 4, .mq_msgsize = sizeof(struct job *)};
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &size);
	need(q >= 0, "mq_open");
	mq_unlink(name);
	both(makes, uses);
	mq_close(q);
	return 0;
}
