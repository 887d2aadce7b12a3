/* Two threads acquire two locks in opposite orders. The second reads a counter that the first increases
 * under both: to print it, or, with an argument, to acquire them only if it was increased. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static atomic_int sent;
static pthread_mutex_t out = PTHREAD_MUTEX_INITIALIZER, in = PTHREAD_MUTEX_INITIALIZER;
static int decides;

static void *first(void *arg) {
	pthread_mutex_lock(&out);
	pthread_mutex_lock(&in);
	atomic_fetch_add(&sent, 1);
	pthread_mutex_unlock(&in);
	pthread_mutex_unlock(&out);
	return arg;
}

static void *second(void *arg) {
	struct timespec t = {0, 40000000};
	nanosleep(&t, 0);
	if (decides) {
		if (!atomic_load(&sent))
			return arg;
	} else {
		fprintf(stderr, "%d sent\n", atomic_load(&sent));
	}
	pthread_mutex_lock(&in);
	pthread_mutex_lock(&out);
	pthread_mutex_unlock(&out);
	pthread_mutex_unlock(&in);
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t, u;
	decides = argc > 1;
	(void)argv;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
