// A message queue calls the second half in a new thread when its first message arrives (mq_notify); that was sent after the first half.
// watch: data
#include "halves.h"
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

static sem_t done;

static void arrives(union sigval v) {
	late();
	sem_post(&done);
}

int main(void) {
	char name[64];
	snprintf(name, sizeof name, "/innocent-notify-%d", getpid());
	struct mq_attr size = {.mq_maxmsg = 2, .mq_msgsize = 8};
	mqd_t q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &size);
	need(q >= 0, "mq_open");
	mq_unlink(name);
	sem_init(&done, 0, 0);
	struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = arrives};
	need(!mq_notify(q, &how), "mq_notify");
	rest(10);
	early();
	mq_send(q, "x", 1, 0);
	while (sem_wait(&done))
		;
	mq_close(q);
	return data != 42;
}
