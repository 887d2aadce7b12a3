// Two threads use a C library that is linked into the program, both alive when either
// allocates, so that each gets a heap of its own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t meeting;

static void *use(void *unused) {
	char *text = malloc(100);
	if (!text)
		exit(1);
	pthread_barrier_wait(&meeting);
	time_t now = 0;
	struct tm day;
	tzset();
	localtime_r(&now, &day);
	strftime(text, 100, "%c", &day);
	FILE *pipe = popen("exit 0", "r");
	if (pipe)
		pclose(pipe);
	free(text);
	return unused;
}

int main(void) {
	pthread_t threads[2];
	if (pthread_barrier_init(&meeting, NULL, 2))
		return 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, use, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
