// A semaphore with one permit is used as a lock.
//
// expect: nothing
#include "threads.h"
#include <semaphore.h>

static sem_t permits;
static int balance;

static void *book(void *unused) {
	sem_wait(&permits);
	balance += 5;
	sem_post(&permits);
	return unused;
}

static void *book_later(void *unused) {
	later(1);
	return book(unused);
}

int main(void) {
	if (sem_init(&permits, 0, 1))
		return 1;
	RUN(book, book_later);
	sem_destroy(&permits);
	return balance != 10;
}
