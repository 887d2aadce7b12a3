// Two threads break times down, each by localtime_r into a struct of its own; a third does so by localtime alone.
#include "turns.h"

static int years[3];

static void *breaks(void *which) {
	long i = (long)which;
	time_t at = i * 40000000;
	struct tm own, *parts = &own;
	rest(60 * i);
	if (i == 2)
		parts = localtime(&at);
	else
		localtime_r(&at, &own);
	years[i] = parts->tm_year;
	return NULL;
}

int main(void) {
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		t[i] = start(breaks, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return years[2] != 72;
}
