/* A driver of a device: it guards each of its many objects by a lock of its own, and synchronises with nobody else. */
#include <pthread.h>

enum { locks = 10000 };

static struct {
	pthread_mutex_t lock;
	long uses;
	char pad[16];
} objects[locks];

__attribute__((constructor)) static void init(void)
{
	for (int i = 0; i < locks; i++)
		pthread_mutex_init(&objects[i].lock, NULL);
}

long driver_launch(unsigned first, unsigned count)
{
	long sum = 0;
	for (unsigned i = 0; i < count; i++) {
		unsigned k = (first + i * 7919) % locks;
		pthread_mutex_lock(&objects[k].lock);
		sum += ++objects[k].uses;
		pthread_mutex_unlock(&objects[k].lock);
	}
	return sum;
}
