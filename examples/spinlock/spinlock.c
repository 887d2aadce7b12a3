// Two clerks count parcels under a spin lock of their own making, an exchange in a
// loop. What they sort out at last they count without it.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int taken;
static int parcels;
static int sorted;

static void take(void) {
	while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
		usleep(100);
}

static void give(void) { __atomic_store_n(&taken, 0, __ATOMIC_RELEASE); }

__attribute__((noinline)) static void count(void) {
	take();
	parcels++;
	give();
}

__attribute__((noinline)) static void sort_out(void) { sorted++; }

static void *clerk(void *unused) {
	for (int i = 0; i < 400; i++)
		count();
	sort_out();
	return unused;
}

int main(void) {
	pthread_t a, b;
	if (pthread_create(&a, NULL, clerk, NULL) || pthread_create(&b, NULL, clerk, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d parcels\n", parcels);
	return sorted < 1 || sorted > 2;
}
