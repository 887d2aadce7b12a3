// Two threads change tally. The argument says what the second one does before: it "waits" until the
// first one has opened a gate on the heap, it "polls" such a gate that nobody opens, or it "sleeps"
// until a static flag is set; the first one sets it afterwards or, if "early" is said, before. The
// gates are of an atomic type only with TYPED.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gate {
	int unused;
#ifdef TYPED
	atomic_int open;
#else
	int open;
#endif
};

static int tally, flag;
static const char *mode;

__attribute__((noinline)) static void change(void) { tally++; }

static void *first(void *p) {
	struct gate *gates = p;
	if (strcmp(mode, "early") == 0)
		__atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
	change();
	if (strcmp(mode, "sleeps") == 0)
		__atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&gates[0].open, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *second(void *p) {
	struct gate *gates = p;
	if (strcmp(mode, "waits") == 0)
		while (!__atomic_load_n(&gates[0].open, __ATOMIC_ACQUIRE))
			sched_yield();
	if (strcmp(mode, "sleeps") == 0 || strcmp(mode, "early") == 0)
		while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
			usleep(1000);
	if (strcmp(mode, "polls") == 0)
		for (int i = 0; i < 3; i++) {
			if (__atomic_load_n(&gates[1].open, __ATOMIC_ACQUIRE))
				return p;
			sched_yield();
		}
	change();
	return NULL;
}

int main(int argc, char **argv) {
	pthread_t t, u;
	mode = argc > 1 ? argv[1] : "";
	struct gate *gates = calloc(2, sizeof *gates);
	if (pthread_create(&t, NULL, first, gates) || pthread_create(&u, NULL, second, gates))
		return 1;
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	printf("tally %d\n", tally);
	free(gates);
	return 0;
}
