// Two threads take two locks in both orders, one of them in a callback of libc. They
// do so one after the other, which nothing but time orders.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void nested(pthread_mutex_t *x, pthread_mutex_t *y)
{
	pthread_mutex_lock(x);
	pthread_mutex_lock(y);
	pthread_mutex_unlock(y);
	pthread_mutex_unlock(x);
}

static int compare(const void *p, const void *q)
{
	nested(&a, &b);
	return *(const int *)p - *(const int *)q;
}

static void *sorts(void *arg)
{
	int v[] = {2, 1};
	qsort(v, 2, sizeof v[0], compare);
	return arg;
}

static void *opposes(void *arg)
{
	usleep(50000);
	nested(&b, &a);
	return arg;
}

int main(void)
{
	pthread_t t, u;
	pthread_create(&t, NULL, sorts, NULL);
	pthread_create(&u, NULL, opposes, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
