// A record is written by aio_write, and the buffer gets the next one from another thread, which first waits for a semaphore that is posted when the request has ended.
#include "turns.h"
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>

static char record[64];
static struct aiocb request;
static sem_t ended;

static void *writes(void *unused) {
	const struct aiocb *all[1] = {&request};
	request = (struct aiocb){.aio_fildes = open("/dev/null", O_WRONLY), .aio_buf = record, .aio_nbytes = sizeof record};
	need(!aio_write(&request), "aio_write");
	while (aio_error(&request) == EINPROGRESS)
		aio_suspend(all, 1, NULL);
	need(aio_return(&request) == sizeof record, "aio_return");
	sem_post(&ended);
	return unused;
}

static void *fills(void *unused) {
	while (sem_wait(&ended))
		;
	memset(record + 8, 'n', 40);
	return unused;
}

int main(void) {
	sem_init(&ended, 0, 0);
	both(writes, fills);
	return 0;
}
