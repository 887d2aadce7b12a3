// A parcel on the heap is published by an atomic flag. "published": the reader looks at the flag before it reads the
// parcel. "changed": the writer changes the parcel once more, after it has set the flag.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct parcel {
	int weight;
	_Atomic int ready;
};

static int changes;

__attribute__((noinline)) static void *packs(void *p)
{
	struct parcel *parcel = p;
	parcel->weight = 3;
	atomic_store_explicit(&parcel->ready, 1, memory_order_release);
	if (changes)
		parcel->weight = 4;
	usleep(50000);
	return NULL;
}

__attribute__((noinline)) static void *delivers(void *p)
{
	struct parcel *parcel = p;
	usleep(20000);
	if (atomic_load_explicit(&parcel->ready, memory_order_acquire))
		printf("%d\n", parcel->weight);
	return NULL;
}

int main(int argc, char **argv)
{
	struct parcel *parcel = calloc(1, sizeof *parcel);
	pthread_t a, b;
	changes = argc > 1 && !strcmp(argv[1], "changed");
	pthread_create(&a, NULL, packs, parcel);
	pthread_create(&b, NULL, delivers, parcel);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	free(parcel);
	return 0;
}
