// main uses a static structure by its name, and threads through the pointer that they were given, but under its lock, or
// before they are started, or after they have been joined; each of two members of one word is one thread's own.
// watch: totals.sum, totals.left, totals.right
#include <pthread.h>

static struct {
	pthread_mutex_t lock;
	long sum;
	int left, right;
} totals = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add(pthread_mutex_t *lock, long *sum) {
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(lock);
		*sum += i;
		pthread_mutex_unlock(lock);
	}
}

static void *adds(void *own) {
	add(&totals.lock, &totals.sum);
	for (int i = 0; i < 200; i++)
		++*(int *)own;
	return 0;
}

int main(void) {
	pthread_t left, right;
	totals.sum = 1;
	totals.left = totals.right = 2;
	pthread_create(&left, 0, adds, &totals.left);
	pthread_create(&right, 0, adds, &totals.right);
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&totals.lock);
		totals.sum++;
		pthread_mutex_unlock(&totals.lock);
	}
	pthread_join(left, 0);
	pthread_join(right, 0);
	return totals.sum != 40001 || totals.left + totals.right != 404;
}
