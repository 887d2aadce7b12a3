/* A thread nests two locks within a section of a third, and sets a flag there. Another waits for the flag
 * in a section of the third, and then nests the two locks in the other order: in the observed run the flag
 * is set, so that it does not wait. The sections of the third cannot change places, since the second would
 * wait. With an argument it only counts, and they can. */
#include <pthread.h>
#include <time.h>

static int set, count;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void later(void) {
	struct timespec t = {0, 40000000};
	nanosleep(&t, 0);
}

static void *first(void *arg) {
	pthread_mutex_lock(&gate);
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&two);
	pthread_mutex_unlock(&two);
	pthread_mutex_unlock(&one);
	set = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&gate);
	return arg;
}

static void *waits(void *arg) {
	later();
	pthread_mutex_lock(&gate);
	while (!set)
		pthread_cond_wait(&changed, &gate);
	pthread_mutex_unlock(&gate);
	pthread_mutex_lock(&two);
	pthread_mutex_lock(&one);
	pthread_mutex_unlock(&one);
	pthread_mutex_unlock(&two);
	return arg;
}

static void *counts(void *arg) {
	later();
	pthread_mutex_lock(&gate);
	count++;
	pthread_mutex_unlock(&gate);
	pthread_mutex_lock(&two);
	pthread_mutex_lock(&one);
	pthread_mutex_unlock(&one);
	pthread_mutex_unlock(&two);
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t, u;
	(void)argv;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, argc > 1 ? counts : waits, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
