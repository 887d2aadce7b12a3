// Two threads add to a total under a lock, many thousand times, and one of them counts in a variable of its own: what
// is always done needs no watching for long. Two others read them once and late: under the lock, and of the count only
// what they are told there; or, given an argument, as they are.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 40, EACH = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long total, steps, told, reported, reported_steps;
static int bare;

static void *add(void *own) {
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < EACH; i++) {
			pthread_mutex_lock(&lock);
			total += i & 3;
			pthread_mutex_unlock(&lock);
			if (own)
				steps++;
		}
		usleep(20000);
	}
	if (own) {
		pthread_mutex_lock(&lock);
		told = steps;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *report(void *unused) {
	usleep(600000);
	if (bare) {
		reported = total;
		return unused;
	}
	pthread_mutex_lock(&lock);
	reported = total;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *report_steps(void *unused) {
	usleep(600000);
	if (bare) {
		reported_steps = steps;
		return unused;
	}
	pthread_mutex_lock(&lock);
	reported_steps = told;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(int argc, char **argv) {
	pthread_t t[4];
	(void)argv;
	bare = argc > 1;
	if (pthread_create(&t[0], NULL, add, &lock) || pthread_create(&t[1], NULL, add, NULL) ||
	    pthread_create(&t[2], NULL, report, NULL) || pthread_create(&t[3], NULL, report_steps, NULL))
		return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld %d\n", total, steps, reported + reported_steps > 0);
	return 0;
}
