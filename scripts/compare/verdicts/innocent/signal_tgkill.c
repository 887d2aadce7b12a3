// The signal is sent by the bare system call tgkill after the first half, and the second half waits for it in sigwait.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static sigset_t set;
static sem_t known;
static pid_t tid;

static void *waits(void *unused) {
	tid = gettid();
	sem_post(&known);
	int n;
	sigwait(&set, &n);
	late();
	return unused;
}

int main(void) {
	sem_init(&known, 0, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_t t = start(waits, NULL);
	sem_wait(&known);
	early();
	rest(10);
	syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
	pthread_join(t, NULL);
	sem_destroy(&known);
	return data != 42;
}
