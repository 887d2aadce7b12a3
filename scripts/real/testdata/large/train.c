/* train STEPS [wait]: the loop of a training: a thread that launches work by way of a driver, workers that load its
   data, and large libraries. It says when main runs, and how long a step took. With wait, the steps count once
   SIGUSR1 has come, and those before it are as many as fit. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "entries.h"

enum { workers = 18, batch = 4096, pairs = 10000, launches = 100, rounds = 12, per_item = 50, ahead = 4 };

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER, wanted = PTHREAD_COND_INITIALIZER;
static int queued, done;
static double data[batch];
static volatile sig_atomic_t counts = 1;

long driver_launch(unsigned first, unsigned count);

static void *load(void *arg)
{
	unsigned id = (unsigned)(long)arg;
	pthread_mutex_lock(&queue_lock);
	while (!done) {
		while (!done && queued >= ahead)
			pthread_cond_wait(&wanted, &queue_lock);
		if (done)
			break;
		pthread_mutex_unlock(&queue_lock);
		driver_launch(id * 331, per_item);
		pthread_mutex_lock(&queue_lock);
		queued++;
		pthread_cond_signal(&ready);
	}
	pthread_mutex_unlock(&queue_lock);
	return NULL;
}

static long step(unsigned s)
{
	long sum = 0;
	pthread_mutex_lock(&queue_lock);
	while (queued == 0)
		pthread_cond_wait(&ready, &queue_lock);
	queued--;
	pthread_cond_signal(&wanted);
	pthread_mutex_unlock(&queue_lock);
	for (int l = 0; l < launches; l++) {
		sum += driver_launch(s + l, pairs / launches);
		for (int r = 0; r < rounds; r++)
			for (int i = 0; i < batch; i++)
				data[i] = data[i] * 0.5 + l;
	}
	return sum;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void begin_to_count(int sig)
{
	(void)sig;
	counts = 1;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 120;
	pthread_t t[workers];
	long sum = 0;
	unsigned s = 0;
	if (argc > 2) {
		counts = 0;
		signal(SIGUSR1, begin_to_count);
	}
	puts("main runs");
	fflush(stdout);
	for (int i = 0; i < entries; i++)
		sum += all[i](i);
	for (long i = 0; i < workers; i++)
		pthread_create(&t[i], NULL, load, (void *)i);
	while (!counts)
		sum += step(s++);
	for (int i = 0; i < steps / 2; i++)
		sum += step(s++);
	int rest = steps - steps / 2;
	double begin = now();
	for (int i = 0; i < rest; i++)
		sum += step(s++);
	double took = now() - begin;
	pthread_mutex_lock(&queue_lock);
	done = 1;
	pthread_cond_broadcast(&wanted);
	pthread_mutex_unlock(&queue_lock);
	for (int i = 0; i < workers; i++)
		pthread_join(t[i], NULL);
	printf("%d steps, %.3f ms each\n", steps, 1e3 * took / rest);
	return sum == 42;
}
