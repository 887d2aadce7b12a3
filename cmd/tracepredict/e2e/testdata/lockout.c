/* The main thread waits for another one while it holds a mutex. The argument selects how: "join"
   joins it, "post" waits for its post. With a second argument the other thread needs another mutex.
   With "third" it joins a thread that needs the journal, and a third thread that has the journal needs
   what the main thread holds; with a second argument it needs one after the other.
   With "signal" the other thread waits for a signal of the main thread, which comes when it waits;
   with a second argument it waits only if there was none. The order of this run is kept by a look at
   the number of threads, or at what the other thread does, which no lock shows. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int signalled, finished;
static pthread_mutex_t config = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static sem_t loaded;

static void *load(void *mutex)
{
	pthread_mutex_lock(mutex);
	sem_post(&loaded);
	pthread_mutex_unlock(mutex);
	return NULL;
}

static int threads(void)
{
	char line[128];
	int n = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	if (f)
		fclose(f);
	return n;
}

static void *await(void *unused)
{
	pthread_mutex_lock(&config);
	pthread_cond_wait(&changed, &config);
	pthread_mutex_unlock(&config);
	return unused;
}

static void *check_and_await(void *unused)
{
	pthread_mutex_lock(&config);
	while (!signalled)
		pthread_cond_wait(&changed, &config);
	pthread_mutex_unlock(&config);
	return unused;
}

static void *await_end(void *unused)
{
	pthread_mutex_lock(&config);
	while (!finished)
		pthread_cond_wait(&changed, &config);
	pthread_mutex_unlock(&config);
	return unused;
}

/* sleeps returns the number of other threads that are in a futex wait. */
static int sleeps(void)
{
	char name[64], line[128];
	struct dirent *d;
	int found = 0;
	DIR *dir = opendir("/proc/self/task");

	while (dir && (d = readdir(dir))) {
		FILE *f;
		int tid = atoi(d->d_name);

		if (tid == 0 || tid == getpid())
			continue;
		snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", tid);
		f = fopen(name, "r");
		if (f && fgets(line, sizeof(line), f) && atoi(line) == SYS_futex)
			found++;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return found;
}

static int signals(void *(*waits)(void *))
{
	pthread_t t;

	pthread_create(&t, NULL, waits, NULL);
	while (!sleeps())
		sched_yield();
	pthread_mutex_lock(&config);
	signalled = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&config);
	pthread_join(t, NULL);
	return 0;
}

/* kinds tells two threads that wait for different things on one condition, each when both wait or the
   other has ended: "kinds" by signals, with a second argument by broadcasts. */
static int kinds(int (*tell)(pthread_cond_t *))
{
	pthread_t t, u;

	pthread_create(&t, NULL, check_and_await, NULL);
	while (sleeps() < 1)
		sched_yield();
	pthread_create(&u, NULL, await_end, NULL);
	while (sleeps() < 2)
		sched_yield();
	pthread_mutex_lock(&config);
	signalled = 1;
	tell(&changed);
	pthread_mutex_unlock(&config);
	pthread_join(t, NULL);
	pthread_mutex_lock(&config);
	finished = 1;
	tell(&changed);
	pthread_mutex_unlock(&config);
	pthread_join(u, NULL);
	return 0;
}

static void *save(void *nested)
{
	pthread_mutex_lock(&journal);
	if (!nested)
		pthread_mutex_unlock(&journal);
	pthread_mutex_lock(&config);
	pthread_mutex_unlock(&config);
	if (nested)
		pthread_mutex_unlock(&journal);
	return NULL;
}

static int third(void *nested)
{
	pthread_t t, u;

	pthread_create(&t, NULL, load, &journal);
	while (threads() > 1)
		sched_yield();
	pthread_create(&u, NULL, save, nested);
	while (threads() > 1)
		sched_yield();
	pthread_mutex_lock(&config);
	pthread_join(t, NULL);
	pthread_mutex_unlock(&config);
	pthread_join(u, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int posts = argc > 1 && strcmp(argv[1], "post") == 0;

	if (argc > 1 && strcmp(argv[1], "signal") == 0)
		return signals(argc > 2 ? check_and_await : await);
	if (argc > 1 && strcmp(argv[1], "kinds") == 0)
		return kinds(argc > 2 ? pthread_cond_broadcast : pthread_cond_signal);
	sem_init(&loaded, 0, 0);
	if (argc > 1 && strcmp(argv[1], "third") == 0)
		return third(argc > 2 ? NULL : &config);
	pthread_create(&t, NULL, load, argc > 2 ? &journal : &config);
	while (threads() > 1)
		sched_yield();
	pthread_mutex_lock(&config);
	if (posts)
		sem_wait(&loaded);
	else
		pthread_join(t, NULL);
	pthread_mutex_unlock(&config);
	if (posts)
		pthread_join(t, NULL);
	return 0;
}
