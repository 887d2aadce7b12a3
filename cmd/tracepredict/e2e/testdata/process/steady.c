// Four threads that lock and count for as long as they are let, hand a baton
// round by a condition, and are checked whenever a line asks: the sum against
// what each thread has counted for itself. A line "segv", "abort" or "kill"
// ends it that way in the middle of its work, "quit" properly.
#include "twist.h"
#include <signal.h>

#define WORKERS 4
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static long sum, own[WORKERS], rounds, ends;
static int baton, stop;

static void *work(void *arg) {
	long me = (long)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (baton != me && !stop)
			pthread_cond_wait(&turn, &lock);
		if (stop)
			break;
		baton = (baton + 1) % WORKERS;
		rounds += baton == 0;
		pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&lock);
		for (int i = 0; i < 50; i++) {
			pthread_mutex_lock(&lock);
			sum++;
			own[me]++;
			pthread_mutex_unlock(&lock);
		}
		nap(); // a program that takes all of a small machine starves the kernel's own threads
	}
	ends++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static const char *check(void) {
	long total = 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < WORKERS; i++)
		total += own[i];
	long s = sum;
	pthread_mutex_unlock(&lock);
	return total == s ? "right" : "wrong";
}

static int *volatile nowhere;

static void raise_fault(void) { *nowhere = 1; }

// progress waits for two more rounds: each thread runs, none is stuck.
static void progress(void) {
	pthread_mutex_lock(&lock);
	long until = rounds + 2;
	while (rounds < until)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
}

int main(void) {
	pthread_t t[WORKERS];
	char line[64];
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	printf("pid %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (strcmp(line, "segv") == 0)
			raise_fault();
		else if (strcmp(line, "abort") == 0)
			abort();
		else if (strcmp(line, "kill") == 0)
			kill(getpid(), SIGKILL);
		else if (strcmp(line, "quit") == 0)
			break;
		progress();
		printf("done %s: %s\n", line, check());
		fflush(stdout);
	}
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	printf("end: %s, %ld threads\n", check(), ends);
	return strcmp(check(), "right") != 0 || ends != WORKERS;
}
