// A server that forks its workers beforehand, as many do. The parent locks
// nothing; each worker has two threads that take the same locks in opposite
// orders, at different times of its day. Seen with --follow alone.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 2
#define JOBS 20

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static int jobs, entries;

__attribute__((noinline)) static void *serve(void *unused) {
	for (int i = 0; i < JOBS; i++) {
		pthread_mutex_lock(&queue);
		jobs++;
		pthread_mutex_lock(&journal);
		entries++;
		pthread_mutex_unlock(&journal);
		pthread_mutex_unlock(&queue);
	}
	return unused;
}

__attribute__((noinline)) static void *audit(void *unused) {
	usleep(200000); // serve has done its work by then, this time
	pthread_mutex_lock(&journal);
	pthread_mutex_lock(&queue);
	entries -= jobs;
	pthread_mutex_unlock(&queue);
	pthread_mutex_unlock(&journal);
	return unused;
}

static int work(void) {
	pthread_t server, auditor;
	if (pthread_create(&server, NULL, serve, NULL) || pthread_create(&auditor, NULL, audit, NULL))
		return 1;
	pthread_join(server, NULL);
	pthread_join(auditor, NULL);
	return entries != 0;
}

int main(void) {
	for (int i = 0; i < WORKERS; i++)
		if (fork() == 0)
			_exit(work());
	int status, failed = 0;
	while (wait(&status) > 0)
		failed += status != 0;
	printf("%d of %d workers failed\n", failed, WORKERS);
	return failed;
}
