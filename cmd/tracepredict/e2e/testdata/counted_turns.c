/*
 * Four threads, which change CPUs all the time, increase a counter under a lock: the values that they write are the order
 * in which they had the lock.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum { threads = 4, rounds = 5000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long counter;

static void *count(void *arg)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), me = (long)arg;
	cpu_set_t set;

	for (int i = 0; i < rounds; i++) {
		if (i % 100 == 0) {
			CPU_ZERO(&set);
			CPU_SET((me + i / 100) % cpus, &set);
			sched_setaffinity(0, sizeof set, &set); /* where that is forbidden, the scheduler chooses */
		}
		pthread_mutex_lock(&lock);
		counter = counter + 1;
		pthread_mutex_unlock(&lock);
	}
	return 0;
}

int main(void)
{
	pthread_t t[threads];

	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], 0, count, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], 0);
}
