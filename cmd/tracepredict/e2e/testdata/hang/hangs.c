// hangs KIND: comes to a stop in one of the ways below, for certain, and says "ready
// PID" before the last of its threads does.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t met;
static sem_t items;
static pthread_t made[8];
static int threads;

static void start(void *(*run)(void *)) { pthread_create(&made[threads++], NULL, run, NULL); }

static void ready(void) {
	printf("ready %d\n", getpid());
	fflush(stdout);
}

static void *a_then_b(void *p) {
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&b);
	return p;
}
static void *b_then_a(void *p) {
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&a);
	return p;
}
// Two accounts on the heap, whose locks no variable holds.
struct account {
	long balance;
	pthread_mutex_t mu;
};
struct order {
	struct account *from, *to;
};
static __attribute__((noinline)) void transfer(struct account *from, struct account *to) {
	pthread_mutex_lock(&from->mu);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&to->mu);
	from->balance--, to->balance++;
}
static void *clerk(void *p) {
	struct order *o = p;
	transfer(o->from, o->to);
	return p;
}
static void *auditor(void *p) {
	struct order *o = p;
	transfer(o->from, o->to);
	return p;
}
static struct account *opened(void) {
	struct account *account = calloc(1, sizeof *account);
	pthread_mutex_init(&account->mu, NULL);
	return account;
}
static void accounts(void) {
	struct account *a = opened(), *b = opened();
	struct order *orders = calloc(2, sizeof *orders);
	orders[0] = (struct order){a, b}, orders[1] = (struct order){b, a};
	pthread_create(&made[threads++], NULL, clerk, &orders[0]);
	pthread_create(&made[threads++], NULL, auditor, &orders[1]);
}
static void *b_then_c(void *p) {
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&c);
	return p;
}
static void *c_then_a(void *p) {
	pthread_mutex_lock(&c);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&a);
	return p;
}
static void *b_then_a_for_a_while(void *p) {
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 3600;
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&met);
	pthread_mutex_timedlock(&a, &until);
	return p;
}
static void *read_then_a(void *p) {
	pthread_rwlock_rdlock(&table);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&a);
	return p;
}
static void *a_then_write(void *p) {
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&met);
	pthread_rwlock_wrlock(&table);
	return p;
}
static void *write_then_a(void *p) {
	pthread_rwlock_wrlock(&table);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&a);
	return p;
}
static void *a_then_read(void *p) {
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&met);
	pthread_rwlock_rdlock(&table);
	return p;
}
static void *again(void *p) {
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&a);
	return p;
}
static void *a_alone(void *p) {
	pthread_mutex_lock(&a);
	return p;
}
static void *ends_with_a(void *p) {
	pthread_mutex_lock(&a);
	return p;
}
// The planner signals before the executive waits: nobody hears.
static void *planner(void *p) {
	pthread_mutex_lock(&a);
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&a);
	return p;
}
static void *executive(void *p) {
	pthread_mutex_lock(&a);
	pthread_cond_wait(&news, &a);
	pthread_mutex_unlock(&a);
	return p;
}
static void *takes(void *p) {
	while (sem_wait(&items))
		;
	return p;
}
static void *arrives(void *p) {
	pthread_barrier_wait(&met); // the third never comes
	return p;
}
static void joined(void) {
	for (int i = 0; i < threads; i++)
		pthread_join(made[i], NULL);
}
static void nothing(int s) { (void)s; }

static void deliver(int number) {
	(void)number;
	sem_post(&items);
}

int main(int argc, char **argv) {
	const char *kind = argc > 1 ? argv[1] : "";
	int is(const char *name) { return !strcmp(kind, name); }
	alarm(120); // should nobody end it
	pthread_barrier_init(&met, NULL, is("ring") || is("barrier") ? 3 : 2);
	sem_init(&items, 0, 0);
	if (is("abba") || is("part") || is("threads"))
		start(a_then_b), start(b_then_a);
	else if (is("heap"))
		accounts();
	else if (is("ring"))
		start(a_then_b), start(b_then_c), start(c_then_a);
	else if (is("limit"))
		start(a_then_b), start(b_then_a_for_a_while);
	else if (is("write"))
		start(read_then_a), start(a_then_write);
	else if (is("read"))
		start(write_then_a), start(a_then_read);
	else if (is("relock"))
		start(again);
	else if (is("join")) {
		pthread_mutex_lock(&a);
		start(a_alone);
	} else if (is("orphan")) {
		start(ends_with_a);
		joined();
		threads = 0;
		start(a_alone);
	} else if (is("lost")) {
		start(planner);
		joined();
		threads = 0;
		start(executive);
	} else if (is("handled")) {
		signal(SIGUSR1, nothing);
		start(executive);
	} else if (is("items"))
		start(takes), start(takes);
	else if (is("barrier"))
		start(arrives), start(arrives);
	else if (is("idle"))
		start(executive), start(takes);
	else if (is("woken")) { // by the handler of a signal, after every thread waits
		signal(SIGALRM, deliver);
		start(takes);
	}
	ready();
	if (is("part") || is("idle")) { // the first thread goes on
		char line[16];
		while (fgets(line, sizeof line, stdin)) {
			pthread_mutex_lock(&c);
			pthread_mutex_unlock(&c);
		}
		_exit(0);
	}
	joined();
	return 0;
}
