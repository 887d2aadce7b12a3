/* Two threads acquire two locks in opposite orders, and write a plain total, each while a flag says that
 * the other does not. The argument says how they take the flag: by a look and then a store, between which
 * the other may look too, or by one operation. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static atomic_int inside;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static int total;
static int at_once;

static void enter(void) {
	if (at_once) {
		while (atomic_exchange(&inside, 1))
			sched_yield();
		return;
	}
	while (atomic_load(&inside))
		sched_yield();
	atomic_store(&inside, 1);
}

static void *first(void *arg) {
	enter();
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&two);
	pthread_mutex_unlock(&two);
	pthread_mutex_unlock(&one);
	total += 5;
	atomic_store(&inside, 0);
	return arg;
}

static void *second(void *arg) {
	struct timespec t = {0, 40000000};
	nanosleep(&t, 0);
	enter();
	total += 6;
	pthread_mutex_lock(&two);
	pthread_mutex_lock(&one);
	pthread_mutex_unlock(&one);
	pthread_mutex_unlock(&two);
	atomic_store(&inside, 0);
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t, u;
	at_once = argc > 1 && !strcmp(argv[1], "exchange");
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return total != 11;
}
