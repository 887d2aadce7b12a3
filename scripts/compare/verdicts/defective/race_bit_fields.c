// Two flags of one byte have a lock each: whoever writes one writes the byte, and may undo what the
// other wrote.
//
// expect: race
// watch: door.open
#include <pthread.h>

#include "fortune.h"

static struct {
	unsigned char open : 1;
	unsigned char locked : 1;
} door;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER, locked_lock = PTHREAD_MUTEX_INITIALIZER;

static void *open_it(void *unused) {
	chance();
	pthread_mutex_lock(&open_lock);
	door.open = 1;
	pthread_mutex_unlock(&open_lock);
	return unused;
}

static void *lock_it(void *unused) {
	later(1);
	pthread_mutex_lock(&locked_lock);
	door.locked = 1;
	pthread_mutex_unlock(&locked_lock);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, open_it, 0);
	pthread_create(&u, 0, lock_it, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return !door.open || !door.locked;
}
