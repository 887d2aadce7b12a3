// Does what lines on standard input tell it, and says when it is done.
#define _GNU_SOURCE
#include "twist.h"
#include <dlfcn.h>
#include <sys/wait.h>

int visits;
static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER, visitors = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static volatile int stay = 1;

__attribute__((noinline)) static void enter(void) { visits++; }

static void *visit(void *second) {
	pthread_barrier_wait(&start);
	if (second)
		nap(); // the records of two accesses at once may contradict each other
	enter();
	return NULL;
}

/* Between two naps, a thread may have returned from any call; so the naps are long. */
static void *old(void *unused) {
	struct timespec t = {0, 20000000};
	while (stay)
		nanosleep(&t, NULL);
	pthread_mutex_lock(&visitors);
	enter();
	pthread_mutex_unlock(&visitors);
	return unused;
}

// A child that waits for a word before it does what it is forked for.
static void fork_twist(void) {
	char line[16];
	fflush(stdout);
	pid_t p = fork();
	if (p == 0) {
		printf("child %d\n", getpid());
		fflush(stdout);
		if (read(0, line, sizeof line) > 0)
			twist();
		_exit(0);
	}
	waitpid(p, NULL, 0);
}

static pthread_t olds[3];

static void join_old(void) {
	stay = 0;
	for (int i = 0; i < 3; i++)
		pthread_join(olds[i], NULL);
	enter(); // after the joins: no race
}

static void visit_twice(void) {
	pthread_t a, b;
	pthread_barrier_init(&start, NULL, 2);
	pthread_create(&a, NULL, visit, NULL);
	pthread_create(&b, NULL, visit, &start);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_barrier_destroy(&start);
}

int main(void) {
	char line[64];
	pthread_mutex_lock(&early);
	for (int i = 0; i < 3; i++)
		pthread_create(&olds[i], NULL, old, NULL);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (strcmp(line, "twist") == 0)
			twist();
		else if (strcmp(line, "join") == 0)
			join_old();
		else if (strcmp(line, "visit") == 0)
			visit_twice();
		else if (strcmp(line, "fork") == 0)
			fork_twist();
		else if (strcmp(line, "library") == 0)
			((void (*)(void))dlsym(RTLD_DEFAULT, "lib_twist"))(); // of a library preloaded
		else if (strcmp(line, "release") == 0)
			pthread_mutex_unlock(&early);
		else if (strcmp(line, "quit") == 0)
			break;
		printf("done %s\n", line);
		fflush(stdout);
	}
	printf("end\n");
	fflush(stdout);
	_exit(0);
}
