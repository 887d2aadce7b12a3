// A structure is copied while its mutex is held, and the copy's mutex is unlocked: nobody had
// locked the copy, and the original stays locked.
//
// expect: misuse copy.lock
#include <pthread.h>

#include "fortune.h"

struct box {
	pthread_mutex_t lock;
	int value;
};

static struct box original = {PTHREAD_MUTEX_INITIALIZER, 1}, copy;

static void *take(void *unused) {
	pthread_mutex_lock(&original.lock);
	copy = original;
	copy.value++;
	pthread_mutex_unlock(&copy.lock);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, take, 0);
	pthread_join(t, 0);
	return copy.value != 2;
}
