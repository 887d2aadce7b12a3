// Main takes the lock three times, and posts between the first two. Only its speed makes the
// thread work after that; with "waits" it waits until main has taken the lock for the third time. Before it works it gives
// itself a name; with "creator" main gives it.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define KEEP __attribute__((noipa))

pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t third;
static const char *how;

KEEP void post(void) {}
KEEP void work(void) {}

static void *worker(void *unused)
{
	if (!strcmp(how, "waits"))
		sem_wait(&third);
	else
		usleep(200000);
	if (strcmp(how, "creator"))
		prctl(PR_SET_NAME, "worker");
	work();
	return unused;
}

static void take_turn(void)
{
	pthread_mutex_lock(&turn_lock);
	pthread_mutex_unlock(&turn_lock);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	how = argc > 1 ? argv[1] : "self";
	sem_init(&third, 0, 0);
	take_turn();
	pthread_create(&thread, NULL, worker, NULL);
	post();
	take_turn();
	take_turn();
	if (!strcmp(how, "creator"))
		pthread_setname_np(thread, "worker");
	sem_post(&third);
	pthread_join(thread, NULL);
	take_turn();
	return 0;
}
