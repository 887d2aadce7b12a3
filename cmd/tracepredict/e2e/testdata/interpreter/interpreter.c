// A program with the lock of an interpreter, as CPython and OCaml 4 have one: a word that changes under a mutex, and a
// condition on which those wait who find it set. Two threads, one after the other, run with it and use two mutexes in
// opposite orders.
//
//   guilty     they release the interpreter's lock to lock a mutex, as what may block does
//   late       the same, with a lock whose condition is signalled after its mutex was released
//   innocent   they do not release it, so that it lets one in at a time
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define COLD __attribute__((noinline))

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_mutex_t switch_mutex;
	pthread_cond_t switch_cond;
	int locked, switches;
} gil = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static int late, keep;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static COLD void take_gil(void)
{
	pthread_mutex_lock(&gil.mutex);
	while (gil.locked)
		pthread_cond_wait(&gil.cond, &gil.mutex);
	gil.locked = 1;
	pthread_mutex_lock(&gil.switch_mutex);
	gil.switches++;
	pthread_cond_signal(&gil.switch_cond);
	pthread_mutex_unlock(&gil.switch_mutex);
	pthread_mutex_unlock(&gil.mutex);
}

static COLD void drop_gil(void)
{
	pthread_mutex_lock(&gil.mutex);
	gil.locked = 0;
	if (!late)
		pthread_cond_signal(&gil.cond);
	pthread_mutex_unlock(&gil.mutex);
	if (late)
		pthread_cond_signal(&gil.cond);
}

COLD void *PyEval_SaveThread(void)
{
	drop_gil();
	return &gil;
}

COLD void PyEval_RestoreThread(void *state)
{
	if (state)
		take_gil();
}

static COLD void lock(pthread_mutex_t *m)
{
	if (keep) {
		pthread_mutex_lock(m);
		return;
	}
	void *state = PyEval_SaveThread();
	pthread_mutex_lock(m);
	PyEval_RestoreThread(state);
}

static COLD void both(pthread_mutex_t *x, pthread_mutex_t *y)
{
	lock(x);
	lock(y);
	pthread_mutex_unlock(y);
	pthread_mutex_unlock(x);
}

static void *sell(void *arg)
{
	take_gil();
	both(&a, &b);
	usleep(300000); /* the other thread comes, and waits for the interpreter's lock */
	drop_gil();
	return arg;
}

static void *refund(void *arg)
{
	take_gil();
	both(&b, &a);
	drop_gil();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t, u;
	const char *mode = argc > 1 ? argv[1] : "";

	keep = !strcmp(mode, "innocent");
	late = !strcmp(mode, "late");
	take_gil();
	PyEval_SaveThread();
	pthread_create(&t, NULL, sell, NULL);
	usleep(100000);
	pthread_create(&u, NULL, refund, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
