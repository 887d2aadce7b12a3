// A variable that is reached through a pointer alone, by threads that live, by
// threads that come and go, by forked children and by what they execute. Each access
// is a read and a write; each line of input is served, and answered when done.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

long shared;
static long *volatile where;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int released, creating;

static void *library;

// Loads the library of the environment's LIBRARY, or unloads it; what is touched is
// the variable of its that has no name here.
static void load(void)
{
	library = dlopen(getenv("LIBRARY"), RTLD_NOW);
	if (!library)
		abort();
	where = *(long **)dlsym(library, "hidden_at");
}

static void unload(void)
{
	where = &shared;
	dlclose(library);
}

static void touch(void)
{
	volatile long *p = where;

	pthread_mutex_lock(&lock);
	*p = *p + 1;
	pthread_mutex_unlock(&lock);
}

static void *once(void *unused)
{
	touch();
	return unused;
}

static void *waits(void *unused)
{
	pthread_mutex_lock(&lock);
	while (!released)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	touch();
	return unused;
}

// Makes threads that wait, until there are so many.
#define STORM 400
static void *storm(void *unused)
{
	pthread_t t[STORM];

	for (int i = 0; i < STORM; i++) {
		if (pthread_create(&t[i], NULL, waits, NULL))
			abort();
		if (i == STORM / 10) {
			printf("begun\n");
			fflush(stdout);
		}
	}
	for (int i = 0; i < STORM; i++)
		pthread_join(t[i], NULL);
	return unused;
}

static void release(void)
{
	pthread_mutex_lock(&lock);
	released = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void spawn(int n)
{
	pthread_t t;

	while (n--) {
		if (pthread_create(&t, NULL, once, NULL))
			abort();
		pthread_join(t, NULL);
	}
}

static void child(int n)
{
	pid_t pid = fork();

	if (pid == 0) {
		while (n--)
			touch();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	char line[100], word[20];
	pthread_t maker = 0;
	int n;

	where = &shared;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && strcmp(argv[1], "-") != 0) {
		for (n = atoi(argv[1]); n; n--)
			touch();
		printf("executed\n");
	}
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof line, stdin)) {
		n = 0;
		if (sscanf(line, "%19s %d", word, &n) < 1)
			continue;
		if (!strcmp(word, "touch"))
			while (n--)
				touch();
		else if (!strcmp(word, "spawn"))
			spawn(n);
		else if (!strcmp(word, "fork"))
			child(n);
		else if (!strcmp(word, "storm"))
			pthread_create(&maker, NULL, storm, NULL), creating = 1;
		else if (!strcmp(word, "release"))
			release(), pthread_join(maker, NULL);
		else if (!strcmp(word, "exec"))
			execl(argv[0], argv[0], line + 5, (char *)NULL);
		else if (!strcmp(word, "load"))
			load();
		else if (!strcmp(word, "unload"))
			unload();
		else if (!strcmp(word, "quit"))
			break;
		line[strcspn(line, "\n")] = 0;
		printf("done %s\n", line);
	}
	return 0;
}
