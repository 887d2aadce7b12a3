/* soak SECONDS THREADS: threads and locks that come and go, at full speed, for so
 * long and until so many threads have served. Each second a line says how many
 * lock/unlock pairs there were so far, and how many threads; the last one ends
 * in "last". Exits 1 if its own sums are wrong. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOCKS 16
#define WORKERS 2

static pthread_mutex_t locks[LOCKS + 1];
static pthread_mutex_t request_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t request_done = PTHREAD_COND_INITIALIZER;
long requests; /* guarded by request_lock; watched */
static int running; /* detached threads, guarded by request_lock */
static atomic_int stop;
static atomic_long pairs, threads;

/* worker locks without pause, one time in eight another lock inside, always in
 * the same order. */
static void *worker(void *arg)
{
	uint64_t random = (uintptr_t)arg * 88172645463325252ull;
	long n = 0;

	while (!stop) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		unsigned i = random % LOCKS;
		int nested = (random >> 32) % 8 == 0;

		pthread_mutex_lock(&locks[i]);
		if (nested) {
			pthread_mutex_lock(&locks[i + 1]);
			pthread_mutex_unlock(&locks[i + 1]);
		}
		pthread_mutex_unlock(&locks[i]);
		n += 1 + nested;
		if (n >= 1000)
			pairs += n, n = 0;
	}
	pairs += n;
	return 0;
}

/* request serves one: a lock of its own, on the heap and destroyed, another on
 * its stack that nobody destroys. */
static void request(void)
{
	pthread_mutex_t *own = malloc(sizeof *own);
	pthread_mutex_t local = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_init(own, 0);
	pthread_mutex_lock(own);
	pthread_mutex_lock(&local);
	pthread_mutex_unlock(&local);
	pthread_mutex_unlock(own);
	pthread_mutex_lock(&request_lock);
	pthread_mutex_lock(own);
	requests++;
	pthread_mutex_unlock(own);
	pthread_mutex_unlock(&request_lock);
	pthread_mutex_destroy(own);
	free(own);
	pairs += 4;
	threads++;
}

static void *joined(void *arg)
{
	request();
	return arg;
}

static void *detached(void *arg)
{
	request();
	pthread_mutex_lock(&request_lock);
	running--;
	pthread_cond_signal(&request_done);
	pthread_mutex_unlock(&request_lock);
	return arg;
}

static void spawn(pthread_t *t, void *(*f)(void *), pthread_attr_t *attr)
{
	int err = pthread_create(t, attr, f, 0);

	if (err) {
		fprintf(stderr, "soak: create a thread: %s\n", strerror(err));
		exit(1);
	}
}

/* churn makes threads, some joined, some detached when made and some later. */
static void *churn(void *arg)
{
	pthread_attr_t born_detached;
	pthread_t t[4];

	pthread_attr_init(&born_detached);
	pthread_attr_setdetachstate(&born_detached, PTHREAD_CREATE_DETACHED);
	while (!stop) {
		pthread_mutex_lock(&request_lock);
		running += 2;
		pthread_mutex_unlock(&request_lock);
		spawn(&t[0], joined, 0);
		spawn(&t[1], joined, 0);
		spawn(&t[2], detached, 0);
		spawn(&t[3], detached, &born_detached);
		pthread_detach(t[2]);
		pthread_join(t[0], 0);
		pthread_join(t[1], 0);
		pthread_mutex_lock(&request_lock);
		while (running > 0)
			pthread_cond_wait(&request_done, &request_lock);
		pthread_mutex_unlock(&request_lock);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int seconds = argc > 2 ? atoi(argv[1]) : 0, last = 0;
	long least = argc > 2 ? atol(argv[2]) : 0;
	pthread_t t[WORKERS + 1];

	if (seconds < 1) {
		fprintf(stderr, "usage: soak SECONDS THREADS\n");
		return 2;
	}
	for (int i = 0; i <= LOCKS; i++)
		pthread_mutex_init(&locks[i], 0);
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&t[i], 0, worker, (void *)(i + 1));
	pthread_create(&t[WORKERS], 0, churn, 0);
	for (int i = 1; !last; i++) {
		sleep(1);
		last = i >= seconds && threads >= least;
		printf("%d %ld %ld%s\n", i, (long)pairs, (long)threads, last ? " last" : "");
		fflush(stdout);
	}
	stop = 1;
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(t[i], 0);
	/* Detached threads tell of their end by a counter that nobody watches. */
	pthread_mutex_lock(&request_lock);
	long made = requests;
	pthread_mutex_unlock(&request_lock);
	return made != threads;
}
