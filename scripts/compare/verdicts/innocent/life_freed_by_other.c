// One thread allocates and fills blocks, another uses and frees them, and addresses come back; each block changes owner under the lock of the box.
// watch: cost of struct job
#include "turns.h"

struct job { long cost; char text[1500]; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *box;

static void *makes(void *unused) {
	for (long i = 0; i < 5; i++) {
		struct job *j = malloc(sizeof *j);
		j->cost = i;
		pthread_mutex_lock(&lock);
		while (box)
			pthread_cond_wait(&changed, &lock);
		box = j;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *uses(void *unused) {
	for (long i = 0; i < 5; i++) {
		pthread_mutex_lock(&lock);
		while (!box)
			pthread_cond_wait(&changed, &lock);
		struct job *j = box;
		box = NULL;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		j->cost = -j->cost;
		free(j);
	}
	return unused;
}

int main(void) {
	both(makes, uses);
	return 0;
}
