// One thread nests a and b in both orders, one after the other; the other
// thread never nests them. A thread does not wait for itself.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static void *left(void *unused) {
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	milliseconds(300);
	return unused;
}

static void *right(void *unused) {
	milliseconds(150);
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	return unused;
}

int main(void) {
	pthread_t l, r;
	if (pthread_create(&l, NULL, left, NULL) || pthread_create(&r, NULL, right, NULL))
		return 1;
	pthread_join(l, NULL);
	pthread_join(r, NULL);
	puts("done");
	return 0;
}
