// The second half follows only if the pointer found under a lock is not NULL; the first half stores it when it is over. No branch looks at it in the section.
// watch: data
// build: -O2
#include "halves.h"


static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct order { void (*run)(void); };
static struct order *posted;
static struct order order = {late};

static void publish(void) { posted = &order; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static struct order *take(void) {
	pthread_mutex_lock(&lock);
	struct order *o = posted;
	posted = NULL;
	pthread_mutex_unlock(&lock);
	return o;
}

static void *second(void *unused) {
	rest(20);
	struct order *o = take();
	if (o)
		o->run();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
