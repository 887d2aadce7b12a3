// A record is written by aio_write under no lock, while another thread puts the next one into the same buffer.
//
// expect: race record
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fortune.h"

static char record[64];
static struct aiocb request;

static void *writes(void *p) {
	const struct aiocb *all[1] = {&request};
	chance();
	request = (struct aiocb){.aio_fildes = open("/dev/null", O_WRONLY), .aio_buf = record, .aio_nbytes = sizeof record};
	if (aio_write(&request))
		exit(1);
	while (aio_error(&request) == EINPROGRESS)
		aio_suspend(all, 1, 0);
	return p;
}

static void *fills(void *p) {
	later(1);
	memset(record + 8, 'n', 40);
	return p;
}

int main(void) {
	pthread_t s, t;
	pthread_create(&s, 0, writes, 0);
	pthread_create(&t, 0, fills, 0);
	pthread_join(s, 0);
	pthread_join(t, 0);
	return 0;
}
