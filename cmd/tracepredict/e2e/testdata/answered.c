/*
 * Two threads take two locks in opposite orders, the second one later. The argument says what keeps them apart:
 *
 *	status    the number of threads that a line of /proc/self/status has: the first one has ended
 *	tasks     the number of entries of /proc/self/task, likewise
 *	kept      as tasks, but a function leaves the number in a variable
 *
 * These only take time, in which the first thread does its work, so that the deadlock is possible:
 *
 *	rounds    ten looks at whether a file is there, with a nap after each
 *	skipped   likewise, and a part of a round depends on the answer
 *
 * Or both threads change a variable, the second one by the instruction behind the loop: "status-tally" as status, and
 * "rounds-tally" as rounds.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static const char *way;
static int entries_seen, found;
static long tally = 1;

static int is(const char *other) { return strcmp(way, other) == 0; }

static int threads(void)
{
	char line[128];
	int n = 9;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	if (f)
		fclose(f);
	return n;
}

static int entries(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/task");

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

__attribute__((noipa)) static void look(void) { entries_seen = entries(); }

static void *first(void *unused)
{
	if (strstr(way, "tally")) {
		tally += 5;
		return unused;
	}
	pthread_mutex_lock(&left);
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
	return unused;
}

__attribute__((noipa)) static void await_status(void)
{
	while (threads() > 2)
		usleep(1000);
}

__attribute__((noipa)) static void await_tasks(void)
{
	while (entries() > 4) /* with . and .. */
		usleep(1000);
}

__attribute__((noipa)) static void await_kept(void)
{
	do {
		usleep(1000);
		look();
	} while (entries_seen > 4);
}

__attribute__((noipa)) static void rounds(void)
{
	for (int i = 0; i < 10; i++) {
		access("/nowhere", F_OK);
		usleep(10000);
	}
}

__attribute__((noipa)) static void skipped(void)
{
	for (int i = 0; i < 10; i++) {
		usleep(10000);
		if (access("/", F_OK))
			continue;
		found++;
	}
}

__attribute__((noipa)) static void await_and_tally(void)
{
	while (threads() > 2)
		usleep(1000);
	tally *= 3;
}

__attribute__((noipa)) static void rounds_and_tally(void)
{
	for (int i = 0; i < 10; i++) {
		access("/nowhere", F_OK);
		usleep(10000);
	}
	tally *= 3;
}

static void *second(void *unused)
{
	if (is("status-tally"))
		await_and_tally();
	else if (is("rounds-tally"))
		rounds_and_tally();
	else if (is("status"))
		await_status();
	else if (is("tasks"))
		await_tasks();
	else if (is("kept"))
		await_kept();
	else if (is("rounds"))
		rounds();
	else
		skipped();
	if (strstr(way, "tally"))
		return unused;
	pthread_mutex_lock(&right);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "status";
	pthread_create(&a, NULL, first, NULL);
	pthread_create(&b, NULL, second, NULL);
	pthread_join(b, NULL);
	pthread_join(a, NULL);
	return 0;
}
