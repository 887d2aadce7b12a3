// Two threads take two spin locks in opposite orders, at the same time, and spin for ever. With an argument, one of them
// holds its lock for long instead, while the other spins, and then lets go of it.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_spinlock_t left, right;
static pthread_barrier_t both;
static int naps;

static void nap(void) {
	struct timespec t = {0, 50000000};
	nanosleep(&t, NULL);
}

static void *first(void *arg) {
	pthread_spin_lock(&left);
	pthread_barrier_wait(&both);
	for (int i = 0; i < naps; i++)
		nap();
	if (!naps) {
		pthread_spin_lock(&right);
		pthread_spin_unlock(&right);
	}
	pthread_spin_unlock(&left);
	return arg;
}

static void *second(void *arg) {
	pthread_spin_lock(&right);
	pthread_barrier_wait(&both);
	pthread_spin_lock(&left);
	pthread_spin_unlock(&left);
	pthread_spin_unlock(&right);
	return arg;
}

int main(int argc, char **argv) {
	pthread_t a, b;
	(void)argv;
	naps = argc > 1 ? 30 : 0;
	pthread_spin_init(&left, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&right, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&a, NULL, first, NULL) || pthread_create(&b, NULL, second, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	puts("done");
	return 0;
}
