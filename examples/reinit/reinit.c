// A slot of a pool is used twice: its lock is destroyed and made anew at the
// same address. The first owner nests the book's lock outside the slot's, the
// second inside. They are two locks, so there is no cycle; the hand-over of the
// slot goes through a flag under the pool's lock.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER, book = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t slot;
static int slot_free;

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static int is_free(void) {
	pthread_mutex_lock(&pool);
	int yes = slot_free;
	pthread_mutex_unlock(&pool);
	return yes;
}

static void *first_owner(void *unused) {
	pthread_mutex_init(&slot, NULL);
	pthread_mutex_lock(&book);
	pthread_mutex_lock(&slot);
	pthread_mutex_unlock(&slot);
	pthread_mutex_unlock(&book);
	pthread_mutex_destroy(&slot);
	pthread_mutex_lock(&pool);
	slot_free = 1;
	pthread_mutex_unlock(&pool);
	milliseconds(200);
	return unused;
}

static void *second_owner(void *unused) {
	while (!is_free())
		milliseconds(20);
	pthread_mutex_init(&slot, NULL);
	pthread_mutex_lock(&slot);
	pthread_mutex_lock(&book);
	pthread_mutex_unlock(&book);
	pthread_mutex_unlock(&slot);
	pthread_mutex_destroy(&slot);
	return unused;
}

int main(void) {
	pthread_t first, second;
	if (pthread_create(&first, NULL, first_owner, NULL) || pthread_create(&second, NULL, second_owner, NULL))
		return 1;
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	puts("done");
	return 0;
}
