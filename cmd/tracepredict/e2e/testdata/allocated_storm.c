/*
 * Four threads hand each other objects of two types and one size, which they free and allocate again by the same
 * function, so that an object of one type is often where one of the other type was. All is done under a lock or by the only owner: there
 * is no race. The argument is how many objects each thread takes.
 */
#include <pthread.h>
#include <stdlib.h>

struct apple {
	long weight;
	long seeds[5];
};

struct pear {
	long length;
	long seeds[5];
};

struct box {
	struct apple *apple;
	struct pear *pear;
};

#define BOXES 16
static struct box boxes[BOXES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds;

__attribute__((noinline)) static void *allocate(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p)
		abort();
	return p;
}

__attribute__((noinline)) static struct apple *make_apple(void)
{
	struct apple *a = allocate(sizeof *a);

	a->weight = 1;
	return a;
}

__attribute__((noinline)) static struct pear *make_pear(void)
{
	struct pear *p = allocate(sizeof *p);

	p->length = 1;
	return p;
}

__attribute__((noinline)) static void use_apple(struct apple *a) { a->weight++; }
__attribute__((noinline)) static void use_pear(struct pear *p) { p->length++; }

static void *worker(void *seed)
{
	unsigned long random = (unsigned long)seed;

	for (long i = 0; i < rounds; i++) {
		struct box new = {0, 0}, old, *b;

		random = random * 6364136223846793005UL + 1442695040888963407UL;
		b = &boxes[random >> 60];
		if (random >> 40 & 1)
			new.apple = make_apple();
		else
			new.pear = make_pear();
		pthread_mutex_lock(&lock);
		old = *b;
		*b = new;
		pthread_mutex_unlock(&lock);
		if (old.apple)
			use_apple(old.apple);
		if (old.pear)
			use_pear(old.pear);
		free(old.apple);
		free(old.pear);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[4];

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, worker, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return 0;
}
