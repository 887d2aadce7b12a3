/* LIBRARY: a library whose threads change a variable and what they are given. Otherwise: a program that calls it, and
 * creates no threads itself. An argument means that the changes are under a lock. */
#include <stdlib.h>

void work(long *given, int locked);

#ifdef LIBRARY
#include <pthread.h>
#include <time.h>

struct job {
	long *given;
	int locked, late;
};

static long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *change(void *p)
{
	struct job *j = p;

	if (j->late)
		nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	if (j->locked) {
		pthread_mutex_lock(&lock);
		total++;
		++*j->given;
		pthread_mutex_unlock(&lock);
	} else {
		total++;
		++*j->given;
	}
	return NULL;
}

void work(long *given, int locked)
{
	struct job one = {given, locked, 0}, two = {given, locked, 1};
	pthread_t t, u;

	pthread_create(&t, NULL, change, &one);
	pthread_create(&u, NULL, change, &two);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
}
#else
int main(int argc, char **argv)
{
	long *given = calloc(1, sizeof *given);

	(void)argv;
	work(given, argc > 1);
	return *given != 2;
}
#endif
