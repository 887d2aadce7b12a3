// The Remote Agent's error, which put a spacecraft on standby in 1999, after
// Havelund (Using Runtime Analysis to Guide Model Checking of Java Programs, SPIN 2000,
// Section 5): the Planner and the Executive signal each other. Each looks whether
// there is news, without the event's lock, before it waits; a signal between the look and
// the wait is missed, and then both wait. 40 other threads, in pairs, have nothing
// to do with it. Ground wakes who still waits when these are done, so that every run ends.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 20 };

struct event {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int count;
};

struct object {
	pthread_mutex_t lock;
	long value;
};

static struct event event1 = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct event event2 = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct object objects[PAIRS];
static long updates = 500;
static atomic_int over, ended;
static volatile int waiting; // somebody waits, or is about to with the lock held

static void wait_for_event(struct event *e) {
	pthread_mutex_lock(&e->lock);
	waiting = 1;
	pthread_cond_wait(&e->changed, &e->lock);
	pthread_mutex_unlock(&e->lock);
}

__attribute__((noipa)) static void signal_event(struct event *e) {
	pthread_mutex_lock(&e->lock);
	e->count = (e->count + 1) % 3;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

// Without the lock: this is the error.
__attribute__((noipa)) static int news(const struct event *e) {
	return e->count;
}

static void *planner(void *unused) {
	int count = 0;
	while (!atomic_load(&over)) {
		if (count == news(&event1))
			wait_for_event(&event1);
		count = news(&event1);
		signal_event(&event2); // here is a plan
	}
	atomic_fetch_add(&ended, 1);
	return unused;
}

static void *executive(void *unused) {
	int count = 0;
	while (!atomic_load(&over)) {
		signal_event(&event1); // give me a plan
		if (count == news(&event2))
			wait_for_event(&event2);
		count = news(&event2);
	}
	atomic_fetch_add(&ended, 1);
	return unused;
}

static void *environment(void *arg) {
	struct object *o = arg;
	for (long i = 0; i < updates; i++) {
		pthread_mutex_lock(&o->lock);
		o->value += i;
		pthread_mutex_unlock(&o->lock);
	}
	return NULL;
}

static void wake(struct event *e) {
	pthread_mutex_lock(&e->lock);
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

int main(int argc, char **argv) {
	pthread_t p, x, others[2 * PAIRS];
	struct timespec nap = {0, 10000000};
	if (argc > 1)
		updates = atol(argv[1]);
	if (pthread_create(&p, NULL, planner, NULL))
		return 1;
	while (!waiting) // the Planner looks first: which of the two does is chance, without
		nanosleep(&nap, NULL);
	if (pthread_create(&x, NULL, executive, NULL))
		return 1;
	for (int i = 0; i < 2 * PAIRS; i++) {
		if (i % 2 == 0)
			pthread_mutex_init(&objects[i / 2].lock, NULL);
		if (pthread_create(&others[i], NULL, environment, &objects[i / 2]))
			return 1;
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		pthread_join(others[i], NULL);
	atomic_store(&over, 1);
	while (atomic_load(&ended) < 2) {
		wake(&event1);
		wake(&event2);
		nanosleep(&nap, NULL);
	}
	pthread_join(p, NULL);
	pthread_join(x, NULL);
	puts("standby");
	return 0;
}
