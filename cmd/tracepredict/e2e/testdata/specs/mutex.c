// A thread signals a condition, and the first thread destroys it; and mutexes and conditions in use as they should be, that
// static initialisers make where others were destroyed.
#include "twice.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *signals(void *c)
{
	pthread_cond_signal(c);
	return NULL;
}

static void destroys(void *c) { pthread_cond_destroy(c); }

static void *sets(void *unused)
{
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

// Who has seen that it is ready destroys what the other thread used.
static void meet(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, sets, NULL))
		abort();
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&changed, &lock);
	ready = 0;
	pthread_mutex_unlock(&lock);
	pthread_mutex_destroy(&lock);
	pthread_cond_destroy(&changed);
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	pthread_cond_t c;

	for (int i = 0; i < 3; i++)
		meet();
	if (pthread_cond_init(&c, NULL))
		return 1;
	use_and_dispose(argc, argv, signals, destroys, &c);
	return 0;
}
