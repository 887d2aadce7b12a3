// Two threads break times down by localtime, which gives both the same static struct to read.
//
// expect: race
#include <pthread.h>
#include <time.h>

#include "fortune.h"

static int years[2];

static void *breaks(void *which) {
	long i = (long)which;
	time_t at = i * 40000000;
	later(5 * (int)i);
	struct tm *parts = localtime(&at);
	chance();
	years[i] = parts->tm_year;
	return 0;
}

int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, breaks, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return years[0] < 69;
}
