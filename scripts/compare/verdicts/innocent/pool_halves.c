// Two tasks run in any of two workers and nest locks in opposite orders, but the second is put into the queue by the first one, at its end.
// watch: data
#include "halves.h"

typedef void task(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static task *queue[4];
static int put, taken, open = 2;

static void submit(task *t) {
	pthread_mutex_lock(&lock);
	queue[put++] = t;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void second(void) {
	late();
	rest(5);
}

static void first(void) {
	early();
	submit(second);
	rest(20);
}

static void *works(void *unused) {
	for (;;) {
		pthread_mutex_lock(&lock);
		while (open && taken == put)
			pthread_cond_wait(&changed, &lock);
		task *t = taken < put ? queue[taken++] : NULL;
		pthread_mutex_unlock(&lock);
		if (!t)
			return unused;
		t();
		pthread_mutex_lock(&lock);
		if (--open == 0)
			pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
}

int main(void) {
	pthread_t s = start(works, NULL), t = start(works, NULL);
	rest(10);
	submit(first);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return data != 42;
}
