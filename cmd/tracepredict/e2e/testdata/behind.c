/* A thread changes plain data and then, under a lock and through a pointer, the head of a list. Another
 * looks at the head under the lock, and then changes the data: the race lies behind the read of a value
 * whose write was not seen. With an argument, it begins when the first thread has ended. */
#include <pthread.h>
#include <time.h>

static int data, head;
static int *volatile way = &head;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int sum;

static void *first(void *arg) {
	data = 3;
	pthread_mutex_lock(&lock);
	*way = 5;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *second(void *arg) {
	struct timespec t = {0, 40000000};
	nanosleep(&t, 0);
	pthread_mutex_lock(&lock);
	sum += head;
	pthread_mutex_unlock(&lock);
	data = 4;
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t, u;
	(void)argv;
	head = 1;
	pthread_create(&t, 0, first, 0);
	if (argc > 1)
		pthread_join(t, 0);
	pthread_create(&u, 0, second, 0);
	if (argc == 1)
		pthread_join(t, 0);
	pthread_join(u, 0);
	return data == 3;
}
