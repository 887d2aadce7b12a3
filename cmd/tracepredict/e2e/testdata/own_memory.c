/*
 * Two threads call a function of the C library whose result is memory of the library's own, one after the other in time.
 *
 * localtime, ctime  and use it under no lock
 * locked            and use it while they hold a lock
 * copied            localtime_r, into memory of their own
 * failed            gmtime of a year that is no int: its result is null
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way;
static volatile int seen[2];

static int is(const char *which) { return !strcmp(way, which); }

static int number(time_t t)
{
	struct tm own, *m;
	time_t never = LONG_MAX;

	if (is("ctime"))
		return ctime(&t)[0];
	if (is("copied"))
		return localtime_r(&t, &own)->tm_mday;
	if (is("failed")) {
		m = gmtime(&never);
		return m ? m->tm_mday : 0;
	}
	m = localtime(&t);
	return m->tm_mday;
}

static void *use(void *arg)
{
	long i = (long)arg;

	usleep(i * 80000);
	if (is("locked"))
		pthread_mutex_lock(&lock);
	seen[i] = number(i * 86400 * 40);
	if (is("locked"))
		pthread_mutex_unlock(&lock);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	way = argc > 1 ? argv[1] : "localtime";
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, use, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
