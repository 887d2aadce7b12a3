// A binary semaphore is locked by one thread and unlocked by another, and the record is written by both under nothing else, but at each time one of them has the only permit.
// watch: record
#include "turns.h"
#include <semaphore.h>

static sem_t permit, handed;
static long record;

static void *reads_disk(void *unused) {
	for (int i = 0; i < 4; i++) {
		sem_wait(&permit);
		record = i;
		sem_post(&handed);
	}
	return unused;
}

static void *completes(void *unused) {
	for (int i = 0; i < 4; i++) {
		sem_wait(&handed);
		record += 100;
		sem_post(&permit);
	}
	return unused;
}

int main(void) {
	sem_init(&permit, 0, 1);
	sem_init(&handed, 0, 0);
	both(reads_disk, completes);
	sem_wait(&permit);
	return record != 103;
}
