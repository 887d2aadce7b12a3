// A thread holds a lock for which two others wait, and spins until one of them tells it to go on, which none can.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int told;

__attribute__((noipa)) static void until_told(void) {
	while (!told)
		;
}

static void *holder(void *arg) {
	pthread_mutex_lock(&lock);
	until_told();
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *waiter(void *arg) {
	pthread_mutex_lock(&lock);
	told = 1;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void) {
	pthread_t t[3];
	if (pthread_create(&t[0], NULL, holder, NULL))
		return 1;
	usleep(100000);
	for (int i = 1; i < 3; i++)
		if (pthread_create(&t[i], NULL, waiter, NULL))
			return 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
