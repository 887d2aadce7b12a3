// Two clerks count visitors in a table of counters that the door hands them by
// pointer. No instruction of theirs names the counter, so no probe sees it: its address
// escapes, and it is watched by a hardware watchpoint.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static long visitors;
static long staff;
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

struct clerk {
	long *counter;
	pthread_mutex_t *lock; // NULL: he has forgotten it
	useconds_t late;
};

__attribute__((noinline)) static void count(long *counter) { *counter += 1; }

static void *work(void *arg) {
	struct clerk *c = arg;
	usleep(c->late); // in each plain run the clerks come one after the other
	for (int i = 0; i < 5; i++) {
		if (c->lock)
			pthread_mutex_lock(c->lock);
		count(c->counter);
		if (c->lock)
			pthread_mutex_unlock(c->lock);
	}
	pthread_mutex_lock(&door);
	staff++;
	pthread_mutex_unlock(&door);
	return NULL;
}

int main(void) {
	struct clerk clerks[] = {{&visitors, &door, 0}, {&visitors, NULL, 100000}};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &clerks[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%ld visitors, %ld clerks\n", visitors, staff);
	return 0;
}
