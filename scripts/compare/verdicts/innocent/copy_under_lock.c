// Versions are read under no lock and freed by whoever drops the last reference, but the pointer and the counts are only touched under the lock.
// watch: value of struct version
#include "turns.h"

struct version { int references; long value; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct version *current;

static void drop(struct version *v) {
	pthread_mutex_lock(&lock);
	int last = --v->references == 0;
	pthread_mutex_unlock(&lock);
	if (last) {
		v->value = -1;
		free(kept(v));
	}
}

static void *reads(void *unused) {
	for (int i = 0; i < 8; i++, rest(1)) {
		pthread_mutex_lock(&lock);
		struct version *v = current;
		v->references++;
		pthread_mutex_unlock(&lock);
		need(v->value > 0, "value");
		drop(v);
	}
	return unused;
}

static void publish(long value) {
	struct version *v = malloc(sizeof *v), *old;
	v->references = 1;
	v->value = value;
	pthread_mutex_lock(&lock);
	old = current;
	current = v;
	pthread_mutex_unlock(&lock);
	if (old)
		drop(old);
}

static void *writes(void *unused) {
	for (long i = 2; i < 8; i++, rest(2))
		publish(i);
	return unused;
}

int main(void) {
	publish(1);
	pthread_t t = start(reads, NULL);
	both(reads, writes);
	pthread_join(t, NULL);
	drop(current);
	return 0;
}
