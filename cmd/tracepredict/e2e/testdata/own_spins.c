// Two locks of the program's own, made of atomic exchanges, are taken in opposite orders at different times.
// Nothing else tells when a thread has one than that it comes back from take.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int a, b;
static int done;

__attribute__((noipa)) static void take(atomic_int *lock) {
	while (atomic_exchange_explicit(lock, 1, memory_order_acquire))
		;
}

__attribute__((noipa)) static void give(atomic_int *lock) {
	atomic_store_explicit(lock, 0, memory_order_release);
}

static void *forth(void *arg) {
	take(&a);
	take(&b);
	done++;
	give(&b);
	give(&a);
	return arg;
}

static void *back(void *arg) {
	usleep(100000);
	take(&b);
	take(&a);
	done++;
	give(&a);
	give(&b);
	return arg;
}

int main(void) {
	pthread_t t, u;
	if (pthread_create(&t, NULL, forth, NULL) || pthread_create(&u, NULL, back, NULL))
		return 1;
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return done != 2;
}
