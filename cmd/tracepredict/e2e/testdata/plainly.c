/* Accesses of one variable by its name, under a lock, by reads, writes and
 * updates, which it counts. */
#include <pthread.h>
#include <stdio.h>

static volatile long plain;
static long accesses;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	for (long i = 0; i < 30; i++) {
		pthread_mutex_lock(&lock);
		plain = i * (long)arg;
		long v = plain;
		plain = v + 1;
		__asm__ volatile("addq $3, %0" : "+m"(plain));
		plain = 77;
		if (plain > 5)
			v++;
		accesses += 6;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("accesses %ld\n", accesses);
	return 0;
}
