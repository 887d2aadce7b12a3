// A variable that only an unusual run accesses.
#include <pthread.h>

int spare;

static void *work(void *unused) { return unused; }

int main(int argc, char **argv) {
	pthread_t t;
	if (argc > 1)
		spare++;
	if (pthread_create(&t, NULL, work, NULL))
		return 1;
	pthread_join(t, NULL);
	return 0;
}
