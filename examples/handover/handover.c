// The orders go from main to a worker, back to main and on to the next worker:
// creating and joining a thread hands them over, so no lock is needed.
#include <pthread.h>
#include <stdio.h>

long orders = 1;

__attribute__((noinline)) static void add(int n) {
	orders += n;
}

static void *work(void *unused) {
	for (int i = 0; i < 10; i++)
		add(i);
	return unused;
}

int main(void) {
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		orders *= 2;
		if (pthread_create(&t, NULL, work, NULL))
			return 1;
		pthread_join(t, NULL);
		orders -= 3;
	}
	printf("%ld orders\n", orders);
	return 0;
}
