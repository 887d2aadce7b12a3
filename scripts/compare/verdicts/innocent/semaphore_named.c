// Each thread opens the semaphore for itself, by its name: the post after the first half is the wait before the second.
// watch: data
#include "halves.h"
#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>

static char name[64];

static void *first(void *unused) {
	sem_t *s = sem_open(name, O_CREAT, 0600, 0);
	early();
	rest(15);
	sem_post(s);
	sem_close(s);
	return unused;
}

static void *second(void *unused) {
	sem_t *s = sem_open(name, O_CREAT, 0600, 0);
	while (sem_wait(s))
		;
	late();
	sem_close(s);
	return unused;
}

int main(void) {
	snprintf(name, sizeof name, "/innocent-%d", getpid());
	sem_t *s = sem_open(name, O_CREAT, 0600, 0);
	need(s != SEM_FAILED, "sem_open");
	both(first, second);
	sem_close(s);
	sem_unlink(name);
	return data != 42;
}
