/* Two mistakes with locks that no run shows: it prints what it should every time.
 *
 * A clerk hands an order over by locking a mutex that the packer unlocks, as if it
 * were a semaphore; only who locked a mutex may unlock it. And where the shelf is
 * empty, the packer unlocks it twice: another thread's lock could be undone so.
 *
 * Expected: two findings of kind misuse, unlock-by-other and unlock-not-held.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t shelf = PTHREAD_MUTEX_INITIALIZER;
static sem_t paper;
static int stock, missed;

static void *packer(void *arg)
{
	sem_wait(&paper);
	pthread_mutex_unlock(&order); /* the clerk's */
	pthread_mutex_lock(&shelf);
	if (stock == 0) {
		missed++;
		pthread_mutex_unlock(&shelf);
	}
	pthread_mutex_unlock(&shelf);
	return arg;
}

static void clerk(void)
{
	pthread_mutex_lock(&order);
	sem_post(&paper);
}

int main(void)
{
	pthread_t t;

	sem_init(&paper, 0, 0);
	if (pthread_create(&t, NULL, packer, NULL) != 0)
		return 1;
	clerk();
	pthread_join(t, NULL);
	printf("missed %d\n", missed);
	return 0;
}
