// Locks taken, and a variable changed, by functions for others, whose frames are of one
// size: what was called by whom only addresses further out on the stack tell.
#include <pthread.h>

#define FRAME __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory") // no tail calls

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int counter;

static FRAME void lock_1(void)
{
	pthread_mutex_lock(&m);
	KEEP;
}

static FRAME void lock_2(void)
{
	lock_1();
	KEEP;
}

static FRAME void lock_3(void)
{
	volatile long local[20];

	local[0] = 0;
	lock_2();
	KEEP;
}

static FRAME void count(void)
{
	counter++;
	KEEP;
}

#define CALLER(name)                                             \
	static FRAME void name(void)                             \
	{                                                        \
		lock_1();                                        \
		count();                                         \
		pthread_mutex_unlock(&m);                        \
		lock_2();                                        \
		pthread_mutex_unlock(&m);                        \
		lock_3();                                        \
		pthread_mutex_unlock(&m);                        \
		KEEP;                                            \
	}

CALLER(first)
CALLER(second)
CALLER(third)

static void *begin_first(void *p)
{
	first();
	return p;
}

static void *begin_second(void *p)
{
	second();
	return p;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, 0, begin_first, 0);
	pthread_join(t, 0);
	pthread_create(&t, 0, begin_second, 0);
	pthread_join(t, 0);
	for (int i = 0; i < 1000; i++)
		first();
	second();
	third();
	return 0;
}
