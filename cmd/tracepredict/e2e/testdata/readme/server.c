// The server of the README's commands: two desks sell tickets, which nothing guards, and
// note jobs, hits and states under a lock. It ends when its standard input does.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	int done;
};

int tickets = 100;
struct {
	struct {
		int hits;
	} stats;
} server;
struct {
	int state;
} slots[4];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void look_up(void); // cache.c, under the lock

static void *desk(void *job) {
	tickets--;
	pthread_mutex_lock(&lock);
	look_up();
	server.stats.hits++;
	slots[3].state++;
	((struct job *)job)->done++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void) {
	pthread_t desks[2];
	struct job *job = calloc(1, sizeof *job);
	for (int i = 0; i < 2; i++)
		pthread_create(&desks[i], NULL, desk, job);
	for (int i = 0; i < 2; i++)
		pthread_join(desks[i], NULL);
	printf("%d tickets, %d jobs\n", tickets, job->done);
	fflush(stdout);
	while (getchar() != EOF)
		;
	free(job);
	return 0;
}
