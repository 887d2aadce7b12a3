// A state is appended to a title under no lock, while another thread prints the title: its beginning never changes, but what strcat writes is what the format's %s reads.
//
// expect: race title
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fortune.h"

static char title[64] = "transfer of the archive";

static void *finishes(void *p) {
	chance();
	strcat(title, ", done");
	return p;
}

static void *shows(void *p) {
	later(1);
	fprintf(stderr, "%s\n", title);
	return p;
}

int main(void) {
	pthread_t s, t;
	pthread_create(&s, 0, finishes, 0);
	pthread_create(&t, 0, shows, 0);
	pthread_join(s, 0);
	pthread_join(t, 0);
	return 0;
}
