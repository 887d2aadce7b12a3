// Two threads change tally. What else they do, unobserved, says the argument: their lock is one that no type
// shows to be atomic.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lock {
	int taken; // no type says that it is atomic
};

static struct lock *lock;
static int tally;
static const char *mode;

__attribute__((noinline)) static void enter(struct lock *l) {
	while (__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
		;
}
__attribute__((noinline)) static void leave(struct lock *l) { __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE); }
__attribute__((noinline)) static void ring(struct lock *l) { __atomic_fetch_add(&l->taken, 2, __ATOMIC_ACQ_REL); }
__attribute__((noinline)) static void change(void) { tally++; }

static int is(const char *m) { return strcmp(mode, m) == 0; }

static void *work(void *nothing) {
	for (int i = is("hot") ? 200000 : 1; i > 0; i--) {
		if (is("locked") || is("hot"))
			enter(lock);
		if (i == 1)
			change();
		if (is("locked") || is("hot"))
			leave(lock);
	}
	return nothing;
}

int main(int argc, char **argv) {
	pthread_t t, u;
	mode = argc > 1 ? argv[1] : "";
	lock = calloc(1, sizeof *lock);
	if (is("alone")) // nobody else is there: it orders nothing
		ring(lock);
	if (pthread_create(&t, NULL, work, NULL))
		return 1;
	pthread_join(t, NULL);
	if (pthread_create(&t, NULL, work, NULL) || pthread_create(&u, NULL, work, NULL))
		return 1;
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	if (is("late"))
		ring(lock);
	printf("tally %d\n", tally);
	return 0;
}
