/*
 * misuse CASE... breaks a rule of the threads' interface for each case, misuse fine
 * CASE... does the same as it should be done. Semaphores make the outcome certain. Marks say which
 * lines the finding must name: the wrong operation, and the other side.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static bool fine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, spare = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t handed = PTHREAD_MUTEX_INITIALIZER, kept = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t made, owned;
static mtx_t plain;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER, broken = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t ready, rung, rung_at, bell;
static sem_t spent;
static pthread_barrier_t gate;
static pthread_rwlock_t shelf, closed;
static sem_t here, go, off;
static bool is_ready, has_rung;
static pid_t worker_id;

static void check(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "%s: %s\n", what, strerror(error));
		exit(1);
	}
}

static pthread_t start(void *(*f)(void *))
{
	pthread_t t;

	check(pthread_create(&t, NULL, f, NULL), "pthread_create");
	return t;
}

static void finish(pthread_t t) { check(pthread_join(t, NULL), "pthread_join"); }

/* Makes a mutex of a type, robust or not. */
static void make(int type, int robust)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	check(pthread_mutex_init(&made, &attr), "pthread_mutex_init");
	pthread_mutexattr_destroy(&attr);
}

static void unlock_not_held(void)
{
	pthread_mutex_lock(&lock); /* other unlock_not_held */
	pthread_mutex_unlock(&lock);
	if (fine)
		pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock); /* wrong unlock_not_held */
}

static void unlock_rwlock(void)
{
	if (fine)
		pthread_rwlock_rdlock(&broken);
	pthread_rwlock_unlock(&broken); /* wrong unlock_rwlock */
}

static void unlock_c11(void)
{
	mtx_init(&plain, mtx_plain);
	mtx_lock(&plain); /* other unlock_c11 */
	mtx_unlock(&plain);
	if (!fine)
		mtx_unlock(&plain); /* wrong unlock_c11 */
	mtx_destroy(&plain);
}

static void *unlocker(void *arg)
{
	if (fine)
		pthread_mutex_lock(&handed);
	pthread_mutex_unlock(&handed); /* wrong unlock_by_other */
	return arg;
}

static void unlock_by_other(void)
{
	pthread_mutex_lock(&handed); /* other unlock_by_other */
	if (fine)
		pthread_mutex_unlock(&handed);
	finish(start(unlocker));
}

/* A semaphore may be given back by anybody. */
static void *poster(void *arg)
{
	sem_post(&go);
	return arg;
}

static void post_by_other(void)
{
	pthread_t t = start(poster);

	sem_wait(&go);
	finish(t);
}

static void relock(void)
{
	make(fine ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	pthread_mutex_lock(&made); /* other relock */
	if (pthread_mutex_lock(&made) == 0) /* wrong relock */
		pthread_mutex_unlock(&made);
	pthread_mutex_unlock(&made);
}

static void relock_rwlock(void)
{
	pthread_rwlock_wrlock(&table); /* other relock_rwlock */
	if (fine)
		pthread_rwlock_unlock(&table);
	pthread_rwlock_wrlock(&table); /* wrong relock_rwlock */
	pthread_rwlock_unlock(&table);
}

static void destroy_held(void)
{
	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	pthread_mutex_lock(&made); /* other destroy_held */
	if (fine)
		pthread_mutex_unlock(&made);
	pthread_mutex_destroy(&made); /* wrong destroy_held */
	if (!fine)
		pthread_mutex_unlock(&made);
}

struct session {
	char name[64];
	pthread_mutex_t lock;
};

static struct session *session;

static struct session *make_session(void)
{
	struct session *s = calloc(1, sizeof(*s));

	__asm__ volatile("" : "+r"(s) : : "memory");
	return s;
}

static void free_held(void)
{
	struct session *s = make_session();

	pthread_mutex_lock(&s->lock); /* other free_held */
	if (fine)
		pthread_mutex_unlock(&s->lock);
	free(s); /* wrong free_held */
	if (!fine)
		pthread_mutex_unlock(&s->lock);
}

static void *owner(void *arg)
{
	pthread_mutex_lock(&session->lock);
	session->name[0]++;
	pthread_mutex_unlock(&session->lock);
	sem_post(&here);
	return arg;
}

/* What a thread has unlocked and handed over another may free. */
static void free_handed(void)
{
	pthread_t t;

	session = make_session();
	t = start(owner);
	sem_wait(&here);
	free(session);
	finish(t);
}

static void *leaves(void *arg)
{
	int left;

	pthread_mutex_lock(&session->lock);
	left = ++session->name[0];
	pthread_mutex_unlock(&session->lock);
	if (left == 2)
		free(session);
	return arg;
}

/* The last one to unlock may free, and memory that is used again has other locks. */
static void free_last(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_t t;

		session = make_session();
		t = start(leaves);
		leaves(NULL);
		finish(t);
	}
}

static void *waiter(void *arg)
{
	pthread_mutex_lock(&lock);
	sem_post(&here);
	while (!is_ready)
		pthread_cond_wait(&ready, &lock); /* other destroy_waited wait_two_mutexes */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *waiter_with_spare(void *arg)
{
	pthread_mutex_t *with = fine ? &lock : &spare;

	pthread_mutex_lock(with);
	sem_post(&here);
	while (!is_ready)
		pthread_cond_wait(&ready, with); /* wrong wait_two_mutexes */
	pthread_mutex_unlock(with);
	return arg;
}

/* Returns when a thread waits. */
static void await(pthread_mutex_t *with)
{
	sem_wait(&here);
	pthread_mutex_lock(with);
	pthread_mutex_unlock(with);
}

static void wake_all(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&spare);
	is_ready = true;
	pthread_cond_broadcast(&ready);
	pthread_mutex_unlock(&spare);
	pthread_mutex_unlock(&lock);
}

/* Ends the process once the condition is being destroyed, for which glibc waits. */
static void *ender(void *arg)
{
	while (!(*(volatile unsigned *)&ready.__data.__wrefs & 4))
		sched_yield();
	_exit(0);
	return arg;
}

static void destroy_waited(void)
{
	pthread_t t = start(waiter);

	await(&lock);
	if (fine) {
		wake_all();
		finish(t);
	} else {
		start(ender);
	}
	pthread_cond_destroy(&ready); /* wrong destroy_waited */
}

/* To destroy a condition right after a broadcast is allowed. */
static void destroy_woken(void)
{
	pthread_t t = start(waiter);

	await(&lock);
	wake_all();
	pthread_cond_destroy(&ready);
	finish(t);
}

static void destroy_twice(void)
{
	const pthread_mutex_t again = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_init(&owned, NULL);
	pthread_mutex_destroy(&owned); /* other destroy_twice */
	if (fine)
		owned = again;
	pthread_mutex_destroy(&owned); /* wrong destroy_twice */
}

static void destroy_condition_twice(void)
{
	const pthread_cond_t again = PTHREAD_COND_INITIALIZER;

	pthread_cond_init(&bell, NULL);
	pthread_cond_destroy(&bell); /* other destroy_condition_twice */
	if (fine)
		bell = again;
	pthread_cond_destroy(&bell); /* wrong destroy_condition_twice */
}

static void destroy_semaphore_twice(void)
{
	sem_init(&spent, 0, 1);
	sem_destroy(&spent); /* other destroy_semaphore_twice */
	if (fine)
		sem_init(&spent, 0, 1);
	sem_destroy(&spent); /* wrong destroy_semaphore_twice */
}

static void reinit_held(void)
{
	pthread_mutex_init(&owned, NULL);
	pthread_mutex_lock(&owned); /* other reinit_held */
	if (fine)
		pthread_mutex_unlock(&owned);
	pthread_mutex_init(&owned, NULL); /* wrong reinit_held */
}

/* Waits, and for ever if the condition has forgotten it. */
static void *listener(void *arg)
{
	pthread_mutex_lock(&lock);
	sem_post(&here);
	while (!has_rung)
		pthread_cond_wait(&bell, &lock); /* other reinit_waited overwritten */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void ring(void)
{
	pthread_mutex_lock(&lock);
	has_rung = true;
	pthread_cond_broadcast(&bell); /* wrong overwritten */
	pthread_mutex_unlock(&lock);
}

static void reinit_waited(void)
{
	pthread_t t;

	has_rung = false;
	pthread_cond_init(&bell, NULL);
	t = start(listener);
	await(&lock);
	if (fine) {
		ring();
		finish(t);
	}
	pthread_cond_init(&bell, NULL); /* wrong reinit_waited */
}

static void overwritten(void)
{
	const pthread_cond_t again = PTHREAD_COND_INITIALIZER;
	pthread_t t;

	has_rung = false;
	pthread_cond_init(&bell, NULL);
	t = start(listener);
	await(&lock);
	if (!fine)
		bell = again;
	ring();
	if (fine) {
		finish(t);
		bell = again;
		ring();
	}
}

static void wait_two_mutexes(void)
{
	pthread_t t = start(waiter), u;

	await(&lock);
	u = start(waiter_with_spare);
	await(fine ? &lock : &spare);
	wake_all();
	finish(t);
	finish(u);
}

static void wait_not_held(void)
{
	const struct timespec past = {0};

	pthread_mutex_lock(&lock); /* other wait_not_held */
	if (!fine)
		pthread_mutex_unlock(&lock);
	pthread_cond_timedwait(&ready, &lock, &past); /* wrong wait_not_held */
	pthread_mutex_unlock(&lock);
}

static void use_destroyed(void)
{
	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	pthread_mutex_lock(&made);
	pthread_mutex_unlock(&made);
	pthread_mutex_destroy(&made); /* other use_destroyed */
	if (fine)
		make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	if (pthread_mutex_lock(&made) == 0) /* wrong use_destroyed */
		pthread_mutex_unlock(&made);
}

/* Nobody sees how a condition is made by its static initialiser. */
static void remake(pthread_cond_t *c)
{
	const pthread_cond_t again = PTHREAD_COND_INITIALIZER;

	if (fine)
		*c = again;
}

static void signal_destroyed(void)
{
	pthread_cond_init(&rung, NULL);
	pthread_cond_signal(&rung);
	pthread_cond_destroy(&rung); /* other signal_destroyed */
	remake(&rung);
	pthread_cond_signal(&rung); /* wrong signal_destroyed */
}

static void wait_destroyed(void)
{
	const struct timespec past = {0};

	pthread_cond_init(&rung_at, NULL);
	pthread_cond_broadcast(&rung_at);
	pthread_cond_destroy(&rung_at); /* other wait_destroyed */
	remake(&rung_at);
	pthread_mutex_lock(&lock);
	pthread_cond_timedwait(&rung_at, &lock, &past); /* wrong wait_destroyed */
	pthread_mutex_unlock(&lock);
}

static void post_destroyed(void)
{
	sem_init(&spent, 0, 1);
	sem_wait(&spent);
	sem_destroy(&spent); /* other post_destroyed */
	if (fine)
		sem_init(&spent, 0, 0);
	sem_post(&spent); /* wrong post_destroyed */
}

/* Another process might make one anew that is shared. */
static void post_shared(void)
{
	sem_init(&spent, 1, 0);
	sem_post(&spent);
	sem_destroy(&spent);
	sem_post(&spent);
}

static void barrier_destroyed(void)
{
	pthread_barrier_init(&gate, NULL, 1);
	pthread_barrier_wait(&gate);
	pthread_barrier_destroy(&gate); /* other barrier_destroyed */
	if (fine)
		pthread_barrier_init(&gate, NULL, 1);
	pthread_barrier_wait(&gate); /* wrong barrier_destroyed */
}

/* Potential: a static initialiser is no call. */
static void rwlock_destroyed(void)
{
	const pthread_rwlock_t again = PTHREAD_RWLOCK_INITIALIZER;

	pthread_rwlock_init(&closed, NULL);
	pthread_rwlock_wrlock(&closed);
	pthread_rwlock_unlock(&closed);
	pthread_rwlock_destroy(&closed); /* other rwlock_destroyed */
	if (fine)
		closed = again;
	pthread_rwlock_rdlock(&closed); /* wrong rwlock_destroyed */
	pthread_rwlock_unlock(&closed);
}

static void *reader(void *arg)
{
	pthread_rwlock_rdlock(&shelf); /* other destroy_rwlock */
	if (fine)
		pthread_rwlock_unlock(&shelf);
	sem_post(&here);
	sem_wait(&go);
	if (!fine)
		pthread_rwlock_unlock(&shelf);
	return arg;
}

static void destroy_rwlock(void)
{
	pthread_t t;

	pthread_rwlock_init(&shelf, NULL);
	t = start(reader);
	sem_wait(&here);
	pthread_rwlock_destroy(&shelf); /* wrong destroy_rwlock */
	sem_post(&go);
	finish(t);
}

static void *keeper(void *arg)
{
	pthread_mutex_lock(&kept); /* other exit_holding */
	if (fine)
		pthread_mutex_unlock(&kept);
	return arg;
}

static void exit_holding(void) { finish(start(keeper)); }

/* To die with a robust mutex is what they are for. */
static void *robust_keeper(void *arg)
{
	pthread_mutex_lock(&made);
	return arg;
}

static void exit_robust(void)
{
	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	finish(start(robust_keeper));
	if (pthread_mutex_lock(&made) == EOWNERDEAD)
		pthread_mutex_consistent(&made);
	pthread_mutex_unlock(&made);
}

static void inherit(void)
{
	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	finish(start(robust_keeper));
}

static void unlock_inconsistent(void)
{
	inherit();
	pthread_mutex_lock(&made); /* other unlock_inconsistent */
	if (fine)
		pthread_mutex_consistent(&made);
	pthread_mutex_unlock(&made); /* wrong unlock_inconsistent */
}

static void wait_inconsistent(void)
{
	struct timespec past = {0};

	inherit();
	pthread_mutex_lock(&made); /* other wait_inconsistent */
	if (fine)
		pthread_mutex_consistent(&made);
	pthread_cond_timedwait(&ready, &made, &past); /* wrong wait_inconsistent */
	if (fine)
		pthread_mutex_unlock(&made);
}

static void let_go(void *mutex)
{
	if (fine)
		pthread_mutex_unlock(mutex);
}

static void *cancelled(void *arg)
{
	pthread_mutex_lock(&spare);
	pthread_cleanup_push(let_go, &spare);
	sem_post(&here);
	for (;;)
		pthread_cond_wait(&ready, &spare); /* other exit_cancelled */
	pthread_cleanup_pop(0);
	return arg;
}

static void exit_cancelled(void)
{
	pthread_t t = start(cancelled);

	sem_wait(&here);
	pthread_cancel(t);
	finish(t);
	pthread_mutex_init(&spare, NULL);
}

/* The end of the process is no end of a thread. */
static void *holder(void *arg)
{
	pthread_mutex_lock(&spare);
	sem_post(&here);
	sem_wait(&go);
	return arg;
}

static void exit_of_process(void)
{
	start(holder);
	sem_wait(&here);
	pthread_mutex_lock(&lock);
	exit(0);
}

static void *user_of_kept(void *arg)
{
	pthread_mutex_lock(&kept);
	pthread_mutex_unlock(&kept);
	return arg;
}

/* main returns with what is locked here. */
static void return_holding(void)
{
	finish(start(user_of_kept));
	pthread_mutex_lock(&kept); /* other return_holding */
	if (fine)
		pthread_mutex_unlock(&kept);
}

/* Threads that are detached have a semaphore of their own: they may be late. */
static void *dawdler(void *arg)
{
	sem_wait(fine ? &go : &off);
	return arg;
}

static void join_detached(void)
{
	pthread_t t = start(dawdler);

	if (!fine) {
		pthread_detach(t); /* other join_detached */
		pthread_join(t, NULL); /* wrong join_detached */
		sem_post(&off);
		return;
	}
	sem_post(&go);
	finish(t);
}

static void join_made_detached(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, fine ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
	check(pthread_create(&t, &attr, dawdler, NULL), "pthread_create"); /* other join_made_detached */
	if (fine)
		sem_post(&go);
	pthread_join(t, NULL); /* wrong join_made_detached */
	if (!fine)
		sem_post(&off);
}

static void *nothing(void *arg) { return arg; }

static void join_twice(void)
{
	pthread_t t = start(nothing);

	pthread_join(t, NULL); /* other join_twice */
	if (!fine)
		pthread_join(t, NULL); /* wrong join_twice */
}

static void detach_twice(void)
{
	pthread_t t = start(dawdler);

	if (!fine) {
		pthread_detach(t); /* other detach_twice */
		pthread_detach(t); /* wrong detach_twice */
		sem_post(&off);
		return;
	}
	thrd_detach(t);
	sem_post(&go);
}

static void detach_joined(void)
{
	pthread_t t = start(nothing);

	pthread_join(t, NULL); /* other detach_joined */
	if (!fine)
		pthread_detach(t); /* wrong detach_joined */
}

static void *narcissus(void *arg)
{
	if (!fine)
		pthread_join(pthread_self(), NULL); /* wrong join_self */
	return arg;
}

static void join_self(void) { finish(start(narcissus)); }

static void *named(void *arg)
{
	__atomic_store_n(&worker_id, gettid(), __ATOMIC_SEQ_CST);
	return arg;
}

static void never_joined(void)
{
	pthread_t t;
	pid_t id;

	check(pthread_create(&t, NULL, named, NULL), "pthread_create"); /* wrong never_joined */
	while (!(id = __atomic_load_n(&worker_id, __ATOMIC_SEQ_CST)))
		sched_yield();
	while (tgkill(getpid(), id, 0) == 0)
		sched_yield();
	if (fine)
		finish(t);
}

/* A thread that still runs when the process ends was not to be joined. */
static void never_ended(void)
{
	start(dawdler);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
#define CASE(f) {#f, f}
	CASE(unlock_not_held), CASE(unlock_rwlock), CASE(unlock_c11), CASE(unlock_by_other), CASE(post_by_other), CASE(relock), CASE(relock_rwlock),
	CASE(destroy_twice), CASE(destroy_condition_twice), CASE(destroy_semaphore_twice), CASE(reinit_held), CASE(reinit_waited), CASE(overwritten),
	CASE(free_held), CASE(free_handed), CASE(free_last),
	CASE(destroy_held), CASE(destroy_waited), CASE(destroy_woken), CASE(wait_two_mutexes), CASE(wait_not_held), CASE(use_destroyed),
	CASE(signal_destroyed), CASE(wait_destroyed), CASE(post_destroyed), CASE(post_shared), CASE(barrier_destroyed), CASE(rwlock_destroyed), CASE(destroy_rwlock),
	CASE(exit_holding), CASE(exit_robust), CASE(unlock_inconsistent), CASE(wait_inconsistent), CASE(exit_cancelled), CASE(exit_of_process), CASE(return_holding), CASE(join_detached), CASE(join_made_detached), CASE(join_twice), CASE(join_self), CASE(detach_twice), CASE(detach_joined),
	CASE(never_joined), CASE(never_ended),
};

static void run(const char *name)
{
	sem_init(&here, 0, 0);
	pthread_cond_init(&ready, NULL);
	is_ready = false;
	worker_id = 0;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(name, cases[i].name) == 0) {
			cases[i].run();
			return;
		}
	}
	fprintf(stderr, "no case %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	sem_init(&go, 0, 0);
	sem_init(&off, 0, 0);
	fine = argc > 1 && strcmp(argv[1], "fine") == 0;
	for (int i = 1 + fine; i < argc; i++)
		run(argv[i]);
	return 0;
}
