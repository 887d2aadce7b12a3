// A clock is set by one thread and read by others under a seqlock: the setter makes
// the version odd, writes, and makes it even; a reader begins again until it has
// seen one even version before and after. Hours and minutes are relaxed atomics, as
// C11 asks for (Boehm, "Can Seqlocks Get Along With Programming Language Memory
// Models?", MSPC 2012). What the setter made ready before the first version it
// hands over by it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_uint version;
static atomic_int hours, minutes;
static int zone;

__attribute__((noinline)) static void set(int h, int m) {
	unsigned v = atomic_load_explicit(&version, memory_order_relaxed);
	atomic_store_explicit(&version, v + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&hours, h, memory_order_relaxed);
	atomic_store_explicit(&minutes, m, memory_order_relaxed);
	atomic_store_explicit(&version, v + 2, memory_order_release);
}

__attribute__((noinline)) static int look(void) {
	for (;;) {
		unsigned v = atomic_load_explicit(&version, memory_order_acquire);
		int h = atomic_load_explicit(&hours, memory_order_relaxed), m = atomic_load_explicit(&minutes, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (v >= 2 && v % 2 == 0 && atomic_load_explicit(&version, memory_order_relaxed) == v)
			return h * 60 + m;
		usleep(100);
	}
}

__attribute__((noinline)) static int local(void) {
	int t = look() + zone;
	zone = 0;
	return t;
}

static void *setter(void *unused) {
	zone = 60;
	for (int i = 0; i < 300; i++)
		set(i / 60, i % 60);
	return unused;
}

int main(void) {
	pthread_t t;
	int wrong = 0;
	if (pthread_create(&t, NULL, setter, NULL))
		return 1;
	wrong += local() < 60;
	for (int i = 0; i < 200; i++)
		wrong += look() > 299;
	pthread_join(t, NULL);
	printf("%d wrong, %d at last\n", wrong, look());
	return 0;
}
