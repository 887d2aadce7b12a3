// main writes the course under no lock while runners already exist, but these wait for a broadcast whose flag is set later, under the lock.
// watch: course
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gun = PTHREAD_COND_INITIALIZER;
static int fired;
static long course;

static void *runs(void *unused) {
	pthread_mutex_lock(&lock);
	while (!fired)
		pthread_cond_wait(&gun, &lock);
	pthread_mutex_unlock(&lock);
	need(course == 400, "course");
	return unused;
}

int main(void) {
	pthread_t s = start(runs, NULL), t = start(runs, NULL);
	rest(10);
	course = 400;
	pthread_mutex_lock(&lock);
	fired = 1;
	pthread_mutex_unlock(&lock);
	pthread_cond_broadcast(&gun);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
