/* Two threads write under one lock, each a variable of its own. Which goes first is
 * up to a flag that nobody watches: as far as locks tell, they could change places. */
#include <pthread.h>

int first, second;
static volatile int done;
static struct {
	long rounds;
	pthread_mutex_t lock;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *one(void *arg)
{
	pthread_mutex_lock(&table.lock);
	first = 1;
	pthread_mutex_unlock(&table.lock);
	done = 1;
	return arg;
}

static void *two(void *arg)
{
	static volatile int passes;

	while (!done)
		;
	passes++;
	pthread_mutex_lock(&table.lock);
	second = 1;
	pthread_mutex_unlock(&table.lock);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, one, 0);
	pthread_create(&t[1], 0, two, 0);
	pthread_join(t[0], 0);
	pthread_join(t[1], 0);
	return 0;
}
