// Two threads, each with messages of its own that it allocates, fills, reads and
// frees. The allocator gives the memory that one has freed to the other: the
// same addresses, other objects. They take turns, so that it surely happens, by
// a lock and a condition; but what they do with a message is under no lock, and
// needs none.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct message {
	long number;
	int length;
	char text[5000];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static int turn;
static void *seen[2][8];

__attribute__((noinline)) static int fill(struct message *m, int n) {
	m->length = n;
	m->number = n;
	__asm__ volatile("" : : "r"(m) : "memory");
	return m->length;
}

static void *talk(void *arg) {
	int me = *(int *)arg;
	for (int i = 0; i < 8; i++) {
		pthread_mutex_lock(&lock);
		while (turn != me)
			pthread_cond_wait(&next, &lock);
		pthread_mutex_unlock(&lock);

		struct message *m = malloc(sizeof *m);
		if (!m || fill(m, i) != i)
			abort();
		seen[me][i] = m;
		free(m);

		pthread_mutex_lock(&lock);
		turn = !me;
		pthread_cond_signal(&next);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void) {
	static int who[2] = {0, 1};
	pthread_t t[2];
	int again = 0;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, talk, &who[i]))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++)
			again += seen[0][i] == seen[1][j];
	printf("the threads had %s address\n", again ? "the same" : "no common");
	return 0;
}
