// Two threads count a variable, one after the other, and main waits for the end of its input: who ends it by a signal
// has the time for that.
#include <pthread.h>
#include <stdio.h>

int water = 20;

static void *raises(void *unused) {
	for (int i = 0; i < 8; i++)
		water++;
	return unused;
}

int main(void) {
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		pthread_create(&t, NULL, raises, NULL);
		pthread_join(t, NULL);
	}
	while (getchar() != EOF)
		;
	return 0;
}
