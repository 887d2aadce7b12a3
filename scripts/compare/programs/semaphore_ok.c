// A letter is handed over by a semaphore, and the answer by another.
//
// expect: nothing
#include "threads.h"
#include <semaphore.h>

static sem_t sent, answered;
static int letter, answer;

static void *writer(void *unused) {
	letter = 41;
	sem_post(&sent);
	sem_wait(&answered);
	letter = answer;
	return unused;
}

static void *reader(void *unused) {
	sem_wait(&sent);
	answer = letter + 1;
	sem_post(&answered);
	return unused;
}

int main(void) {
	if (sem_init(&sent, 0, 0) || sem_init(&answered, 0, 0))
		return 1;
	RUN(writer, reader);
	sem_destroy(&sent);
	sem_destroy(&answered);
	return letter != 42;
}
