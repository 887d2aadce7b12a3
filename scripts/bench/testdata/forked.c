// What a forked child that nobody observes pays for its parent being observed: the
// ns of a pthread_mutex_lock and unlock pair in the child, each round a child of
// its own. With an argument it waits for a line first, so that one can attach.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 200000
#define ROUNDS 5

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int in_child(void) {
	double began = now();
	for (int i = 0; i < PAIRS; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	printf("%.0f ns a pair in a forked child\n", (now() - began) / PAIRS);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv) {
	char line[16];
	(void)argv;
	if (argc > 1 && !fgets(line, sizeof line, stdin))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		if (fork() == 0)
			_exit(in_child());
		wait(NULL);
	}
	return 0;
}
