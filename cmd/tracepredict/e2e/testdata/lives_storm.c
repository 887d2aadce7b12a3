/* Two threads nest the initialised locks of an object on the heap in opposite orders, each once. With an argument, memory is freed before that so often that its ends are not recorded any
 * more: until it takes little time again. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct pair {
	long id;
	pthread_mutex_t a, b;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void storm(void)
{
	enum { frees = 10000 };
	double took;
	int quick = 0;

	for (int rounds = 0; rounds < 3000 && quick < 3; rounds++) {
		took = now();
		for (int i = 0; i < frees; i++) {
			void *p = malloc(64);

			__asm__ volatile("" : "+r"(p) : : "memory");
			free(p);
		}
		took = now() - took;
		quick = took < frees * 150 ? quick + 1 : 0;
	}
}

static void *forth(void *p)
{
	struct pair *x = p;

	pthread_mutex_lock(&x->a);
	pthread_mutex_lock(&x->b);
	pthread_mutex_unlock(&x->b);
	pthread_mutex_unlock(&x->a);
	return NULL;
}

static void *back(void *p)
{
	struct pair *x = p;

	pthread_mutex_lock(&x->b);
	pthread_mutex_lock(&x->a);
	pthread_mutex_unlock(&x->a);
	pthread_mutex_unlock(&x->b);
	return NULL;
}

int main(int argc, char **argv)
{
	struct pair *x = calloc(1, sizeof(*x));
	pthread_t t, u;

	(void)argv;
	pthread_mutex_init(&x->a, NULL);
	pthread_mutex_init(&x->b, NULL);
	if (argc > 1)
		storm();
	pthread_create(&t, NULL, forth, x);
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* so that they do not block each other */
	pthread_create(&u, NULL, back, x);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	free(x);
	return 0;
}
