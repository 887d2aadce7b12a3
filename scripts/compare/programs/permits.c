// A semaphore that is used as a lock is initialised with two permits instead of one, so two threads
// can be in the section at once. In this run they are there one after the other, and the first
// one's post comes before the second one's wait.
//
// expect: race balance
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
	if (sem_init(&permits, 0, 2))
		return 1;
	RUN(book, book_later);
	sem_destroy(&permits);
	return balance != 10;
}
