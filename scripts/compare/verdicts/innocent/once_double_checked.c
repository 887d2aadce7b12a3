// Most threads read what the initialisation wrote under no lock, but they first loaded the atomic pointer that it stored last, with acquire.
// watch: size of struct table
#include "turns.h"
#include <stdatomic.h>

struct table { long size; };
static struct table *_Atomic instance;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct table *get(void) {
	struct table *t = atomic_load_explicit(&instance, memory_order_acquire);
	if (t)
		return t;
	pthread_mutex_lock(&lock);
	t = atomic_load_explicit(&instance, memory_order_relaxed);
	if (!t) {
		t = malloc(sizeof *t);
		t->size = 8;
		atomic_store_explicit(&instance, t, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return t;
}

static void *uses(void *unused) {
	need(get()->size == 8, "size");
	rest(10);
	need(get()->size == 8, "size");
	return unused;
}

int main(void) {
	both(uses, uses);
	free(instance);
	return 0;
}
