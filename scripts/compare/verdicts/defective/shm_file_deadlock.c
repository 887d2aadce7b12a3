// A server and a client, each a process of its own, map one file at different addresses and lock
// its two robust mutexes in opposite orders: a robust mutex helps only if its owner ends.
//
// expect: deadlock
// args: --follow
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fortune.h"

struct segment {
	pthread_mutex_t request, reply;
	int served;
};

static struct segment *attach(int file) {
	return mmap(0, sizeof(struct segment), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static void client(struct segment *s) {
	pthread_mutex_lock(&s->request);
	chance();
	pthread_mutex_lock(&s->reply);
	s->served++;
	pthread_mutex_unlock(&s->reply);
	pthread_mutex_unlock(&s->request);
}

static void server(struct segment *s) {
	pthread_mutex_lock(&s->reply);
	chance();
	pthread_mutex_lock(&s->request);
	s->served++;
	pthread_mutex_unlock(&s->request);
	pthread_mutex_unlock(&s->reply);
}

int main(void) {
	char name[] = "/tmp/segmentXXXXXX";
	int file = mkstemp(name);
	unlink(name);
	if (ftruncate(file, sizeof(struct segment)))
		return 1;
	struct segment *s = attach(file);
	pthread_mutexattr_t shared;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&s->request, &shared);
	pthread_mutex_init(&s->reply, &shared);
	if (!fork()) {
		client(attach(file));
		_exit(0);
	}
	later(5);
	server(s);
	wait(0);
	return s->served != 2;
}
