// Two threads nest mutexes in opposite orders, but both do it only while they hold the exclusive flock of one file: it is their gate.
#include "turns.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER, body_lock = PTHREAD_MUTEX_INITIALIZER;
static char name[64];

static void update(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	int fd = open(name, O_RDWR);
	flock(fd, LOCK_EX);
	nest(outer, inner);
	flock(fd, LOCK_UN);
	close(fd);
}

static void *inserts(void *unused) {
	update(&index_lock, &body_lock);
	return unused;
}

static void *removes(void *unused) {
	rest(20);
	update(&body_lock, &index_lock);
	return unused;
}

int main(void) {
	snprintf(name, sizeof name, "/tmp/innocent-gate-%d", getpid());
	close(open(name, O_RDWR | O_CREAT, 0600));
	both(inserts, removes);
	unlink(name);
	return 0;
}
