// The test program of the README's commands: two threads take two locks in one order.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *test(void *unused) {
	pthread_mutex_lock(&first);
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
	return unused;
}

int main(void) {
	pthread_t tests[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&tests[i], NULL, test, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(tests[i], NULL);
	puts("passed");
	return 0;
}
