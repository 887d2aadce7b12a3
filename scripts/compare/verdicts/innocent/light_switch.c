// Readers read under no lock of their own, and the last reader posts what the first one took, but the semaphore so keeps out the writer while any reader is in.
// watch: value
#include "turns.h"
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t room;
static int readers, value;

static void *reads(void *unused) {
	for (int i = 0; i < 4; i++, rest(2)) {
		pthread_mutex_lock(&lock);
		if (readers++ == 0)
			while (sem_wait(&room))
				;
		pthread_mutex_unlock(&lock);
		need(value % 2 == 0, "value");
		pthread_mutex_lock(&lock);
		if (--readers == 0)
			sem_post(&room);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *writes(void *unused) {
	for (int i = 0; i < 4; i++, rest(2)) {
		while (sem_wait(&room))
			;
		value++;
		value++;
		sem_post(&room);
	}
	return unused;
}

int main(void) {
	sem_init(&room, 0, 1);
	pthread_t t = start(reads, NULL);
	both(reads, writes);
	pthread_join(t, NULL);
	sem_destroy(&room);
	return value != 8;
}
