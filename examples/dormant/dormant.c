// Guests sign a book without a lock. The program has an atomic instruction through a
// pointer, with which they could be ordered, but nobody executes it in this run: the
// race is predicted. Had one rung before the last signed, it would be potential.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static int entries;

__attribute__((noinline)) static void ring(atomic_int *bell) { atomic_fetch_add(bell, 1); }

__attribute__((noinline)) static void sign(void) { entries++; }

static void *first(void *unused) {
	sign();
	return unused;
}

static void *second(void *bell) {
	usleep(100000);
	sign();
	if (bell)
		ring(bell);
	return NULL;
}

int main(int argc, char **argv) {
	atomic_int bell = 0;
	pthread_t a, b;
	(void)argv;
	if (pthread_create(&a, NULL, first, NULL) || pthread_create(&b, NULL, second, argc > 1 ? &bell : NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d entries, %d rings\n", entries, atomic_load(&bell));
	return 0;
}
