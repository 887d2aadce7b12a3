// Two threads change two variables through pointers, in one function that both call from two places. What passes the
// addresses has a probe of its own, at the calls.
#include <pthread.h>
#include <unistd.h>

static int a, b;

__attribute__((noipa)) static void set(int *p) {
	__atomic_exchange_n(p, 1, __ATOMIC_ACQUIRE);
}

__attribute__((noipa)) static void *early(void *arg) {
	set(&a);
	a++;
	set(&b);
	b++;
	return arg;
}

__attribute__((noipa)) static void *late(void *arg) {
	usleep(50000);
	set(&b);
	b++;
	set(&a);
	a++;
	return arg;
}

int main(void) {
	pthread_t one, two;
	if (pthread_create(&one, NULL, early, NULL) || pthread_create(&two, NULL, late, NULL))
		return 1;
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	return 0;
}
