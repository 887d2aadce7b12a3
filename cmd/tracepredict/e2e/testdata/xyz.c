/* The interval property of JMPaX, "if x > 0, then y == 0 has been true, and since then y > z has never been", on two
 * threads that meet by variables that nobody watches. The argument says which of y and z is written first, and how that
 * is known: "z" or "y" by such a variable, "posted" y by a semaphore. */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

int x = -1, y, z;
static volatile int reached;
static sem_t written;

static void reach(int n) { reached = n; }

static void await(int n)
{
	while (reached < n)
		;
}

static const char *first;

static void *second(void *unused)
{
	await(1);
	if (!strcmp(first, "posted"))
		sem_wait(&written);
	else if (!strcmp(first, "y"))
		await(2);
	z = 1;
	reach(3);
	await(4);
	x = 1;
	return unused;
}

static void write_y(void)
{
	y = 1;
}

int main(int argc, char **argv)
{
	pthread_t t;

	first = argc > 1 ? argv[1] : "z";
	sem_init(&written, 0, 0);
	pthread_create(&t, NULL, second, NULL);
	x = 0;
	reach(1);
	if (!strcmp(first, "z"))
		await(3);
	write_y();
	if (!strcmp(first, "posted"))
		sem_post(&written);
	else if (!strcmp(first, "y"))
		reach(2);
	await(3);
	reach(4);
	pthread_join(t, NULL);
	return 0;
}
