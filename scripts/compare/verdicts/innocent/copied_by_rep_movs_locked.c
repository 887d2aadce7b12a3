// A configuration is copied and replaced by string instructions (rep movs), under a mutex.
// build: -mmemcpy-strategy=rep_8byte:-1:noalign
#include "turns.h"

static struct config {
	long level[64];
} current, next = {{1, 2, 3}}, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *replaces(void *unused) {
	pthread_mutex_lock(&lock);
	current = next;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *uses(void *unused) {
	rest(200);
	pthread_mutex_lock(&lock);
	used = current;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	both(replaces, uses);
	return used.level[0] > 1;
}
