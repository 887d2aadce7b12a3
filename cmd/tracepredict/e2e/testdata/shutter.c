/* A keeper opens the shutter in one of many critical sections and closes it in the next. Who comes in between locks left and
 * right in the opposite order of the keeper's, who does so at the end. Two constraints decide that: it is after the one request
 * of counter and before the next. */
#include <pthread.h>

static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int open_now;

static void *keeper(void *unused)
{
	for (int i = 0; i < 16; i++) {
		pthread_mutex_lock(&counter);
		open_now = i == 9;
		pthread_mutex_unlock(&counter);
	}
	pthread_mutex_lock(&right);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	return unused;
}

static void *visitor(void *unused)
{
	int seen;

	pthread_mutex_lock(&counter);
	seen = open_now;
	pthread_mutex_unlock(&counter);
	if (seen) {
		pthread_mutex_lock(&left);
		pthread_mutex_lock(&right);
		pthread_mutex_unlock(&right);
		pthread_mutex_unlock(&left);
	}
	return unused;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, keeper, NULL);
	pthread_create(&b, NULL, visitor, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
