// bank WORK THREADS TRANSACTIONS: the banking program of the paper on DAME (Sen, Vardhan, Agha, Rosu): every other thread
// moves money between two accounts, and the others add the balances up, TRANSACTIONS times each. Each account has a lock.
// Between its two accesses of accounts a transaction works: WORK steps of a computation. main prints what that took.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define KEEP __attribute__((noipa)) // as if it were in a library

enum { max_threads = 64 };

static pthread_mutex_t checking_lock = PTHREAD_MUTEX_INITIALIZER, saving_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
long checking = 1000000, saving = 1000000;
static long work, transactions;
static volatile unsigned long result;

struct thread {
	pthread_t id;
	long done;
	double wall, cpu; // ns
};

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void compute(void) {
	unsigned long x = 88172645463325252;
	for (long i = 0; i < work; i++) { // xorshift, of Marsaglia
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	result = x;
}

KEEP void transfer(long amount) {
	pthread_mutex_lock(&checking_lock);
	checking -= amount;
	pthread_mutex_unlock(&checking_lock);
	compute();
	pthread_mutex_lock(&saving_lock);
	saving += amount;
	pthread_mutex_unlock(&saving_lock);
}

KEEP long balance(void) {
	pthread_mutex_lock(&checking_lock);
	long sum = checking;
	pthread_mutex_unlock(&checking_lock);
	compute();
	pthread_mutex_lock(&saving_lock);
	sum += saving;
	pthread_mutex_unlock(&saving_lock);
	return sum;
}

static void run(struct thread *t, int teller) {
	pthread_barrier_wait(&ready);
	double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
	for (; t->done < transactions; t->done++) {
		if (teller)
			transfer(1);
		else
			balance();
	}
	t->cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	t->wall = now(CLOCK_MONOTONIC) - wall;
}

static void *teller(void *t) {
	run(t, 1);
	return NULL;
}

static void *auditor(void *t) {
	run(t, 0);
	return NULL;
}

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec / 1e6; }

int main(int argc, char **argv) {
	work = argc > 1 ? atol(argv[1]) : -1;
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	transactions = argc > 3 ? atol(argv[3]) : 0;
	if (work < 0 || threads < 1 || threads > max_threads || transactions < 1) {
		fprintf(stderr, "usage: bank WORK THREADS(1..%d) TRANSACTIONS\n", max_threads);
		return 2;
	}
	static struct thread thread[max_threads];
	double wall = 0, cpu = 0;
	long done = 0;
	pthread_barrier_init(&ready, NULL, threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i].id, NULL, i % 2 ? auditor : teller, &thread[i]))
			return 1;
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i].id, NULL);
		if (thread[i].wall > wall)
			wall = thread[i].wall;
		cpu += thread[i].cpu;
		done += thread[i].done;
	}
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	printf("{\"pairs\": %ld, \"ns_per_pair\": %.2f, \"cpu_ns_per_pair\": %.2f, \"cpu_s\": %.3f}\n", done,
	       wall / (threads * transactions), cpu / (threads * transactions), seconds(used.ru_utime) + seconds(used.ru_stime));
	return checking + saving != 2000000;
}
