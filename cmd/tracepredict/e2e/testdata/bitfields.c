/*
 * Two threads use members of a static structure with bit fields, under no lock. ONE is what the first thread
 * does, OTHER what the second one does; the structure is MEMBERS.
 */
#include <pthread.h>
#include <sched.h>

static struct s { MEMBERS } s, saved;
static volatile unsigned out;

static void *first(void *unused)
{
	for (int i = 0; i < 20; i++) {
		ONE;
		sched_yield();
	}
	return unused;
}

static void *second(void *unused)
{
	for (int i = 0; i < 20; i++) {
		OTHER;
		sched_yield();
	}
	return unused;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, 0, first, 0);
	pthread_create(&b, 0, second, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return (int)out < 0 && saved.c == s.c;
}
