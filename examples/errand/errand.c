// Two threads nest a and b in opposite orders. The first does so under the lock c,
// the second after an errand of its own there: they can only meet if the errand
// comes first, which it did not in this run.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static void *first(void *unused) {
	pthread_mutex_lock(&c);
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&c);
	milliseconds(300);
	return unused;
}

static void *second(void *unused) {
	milliseconds(150);
	pthread_mutex_lock(&c);
	pthread_mutex_unlock(&c);
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	return unused;
}

int main(void) {
	pthread_t f, s;
	if (pthread_create(&f, NULL, first, NULL) || pthread_create(&s, NULL, second, NULL))
		return 1;
	pthread_join(f, NULL);
	pthread_join(s, NULL);
	puts("done");
	return 0;
}
