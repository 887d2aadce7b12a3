/* Two threads come to the door. The one that comes second locks left and right, front in this order, back in the other. */
#include <pthread.h>

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int came;

static int second(void)
{
	int before;

	pthread_mutex_lock(&door);
	before = came++;
	pthread_mutex_unlock(&door);
	return before;
}

static void *front(void *unused)
{
	if (second()) {
		pthread_mutex_lock(&left);
		pthread_mutex_lock(&right);
		pthread_mutex_unlock(&right);
		pthread_mutex_unlock(&left);
	}
	return unused;
}

static void *back(void *unused)
{
	if (second()) {
		pthread_mutex_lock(&right);
		pthread_mutex_lock(&left);
		pthread_mutex_unlock(&left);
		pthread_mutex_unlock(&right);
	}
	return unused;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, front, NULL);
	pthread_create(&b, NULL, back, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
