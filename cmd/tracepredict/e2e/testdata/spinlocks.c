// Locks whose code is the program's own: spin locks. The argument says how two threads use two of them, a and b:
// one acquires a and then b, the other one b and then a, unless it says otherwise. The threads run one after the other,
// ordered by nothing but time, but for contended.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Four kinds of spin lock.
typedef struct { atomic_flag taken; } flag_lock;
static inline void flag_acquire(flag_lock *l) { while (atomic_flag_test_and_set_explicit(&l->taken, memory_order_acquire)) sched_yield(); }
static inline void flag_release(flag_lock *l) { atomic_flag_clear_explicit(&l->taken, memory_order_release); }

typedef struct { atomic_int word; } word_lock;
static inline void word_acquire(word_lock *l) {
	for (;;) {
		int free = 0;
		while (atomic_load_explicit(&l->word, memory_order_relaxed)) sched_yield();
		if (atomic_compare_exchange_weak(&l->word, &free, 1)) return;
	}
}
static inline bool word_try(word_lock *l) {
	int free = 0;
	return atomic_compare_exchange_strong(&l->word, &free, 1);
}
static inline void word_release(word_lock *l) { atomic_store_explicit(&l->word, 0, memory_order_release); }

typedef struct { int word; } old_lock;
static inline void old_acquire(old_lock *l) { while (__sync_lock_test_and_set(&l->word, 1)) while (*(volatile int *)&l->word) sched_yield(); }
static inline void old_release(old_lock *l) { __sync_lock_release(&l->word); }

static flag_lock fa = {ATOMIC_FLAG_INIT}, fb = {ATOMIC_FLAG_INIT};
static word_lock wa, wb, gate;
static old_lock oa, ob;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
struct pair { word_lock a; long total; word_lock b; } *heap;
static long total, contended, got;
static atomic_int sequence, once, full, ready;
static long box;
static const char *mode;

static bool is(const char *name) { return !strcmp(mode, name); }

static void rests(void) { usleep(1000); }

static void two(word_lock *x, word_lock *y) {
	word_acquire(x);
	word_acquire(y);
	total++;
	word_release(y);
	word_release(x);
}

static void flags(flag_lock *x, flag_lock *y) {
	flag_acquire(x);
	flag_acquire(y);
	total++;
	flag_release(y);
	flag_release(x);
}

static void contend(word_lock *l) {
	for (int i = 0; i < 50; i++) {
		word_acquire(l);
		contended++;
		if (i % 10 == 0) rests();
		word_release(l);
	}
}

static void put(long n) { // full is set by one thread, and cleared by the other one
	while (atomic_exchange(&full, 1)) sched_yield();
	box = n;
	atomic_store(&ready, 1);
}

static void *first(void *unused) {
	if (is("flag")) flags(&fa, &fb);
	if (is("word") || is("same") || is("tried") || is("joined")) two(&wa, &wb);
	if (is("heap")) {
		word_acquire(&heap->a);
		word_acquire(&heap->b);
		heap->total++;
		word_release(&heap->b);
		word_release(&heap->a);
	}
	if (is("old")) {
		old_acquire(&oa);
		old_acquire(&ob);
		total++;
		old_release(&ob);
		old_release(&oa);
	}
	if (is("mutex")) {
		word_acquire(&wa);
		pthread_mutex_lock(&mutex);
		total++;
		pthread_mutex_unlock(&mutex);
		word_release(&wa);
	}
	if (is("gate")) {
		word_acquire(&gate);
		two(&wa, &wb);
		word_release(&gate);
	}
	if (is("contended")) {
		two(&wa, &wb);
		contend(&gate);
	}
	if (is("looked")) two(&wa, &wb);
	if (is("once")) {
		int no = 0;
		word_acquire(&wa);
		if (atomic_compare_exchange_strong(&once, &no, 1)) box = 7;
		word_release(&wa);
	}
	if (is("sequence")) {
		int even = 0;
		while (!atomic_compare_exchange_weak(&sequence, &even, 1)) even = 0;
		box = 5;
		atomic_store(&sequence, 2);
	}
	if (is("handed")) {
		two(&wa, &wb);
		put(1);
	}
	if (is("opened")) { // the other one opens what this one has closed
		box = 1;
		word_acquire(&wa);
		word_acquire(&wb);
	}
	return NULL;
}

static void *second(void *unused) {
	if (is("flag")) flags(&fb, &fa);
	if (is("word") || is("joined")) two(&wb, &wa);
	if (is("same")) two(&wa, &wb);
	if (is("heap")) {
		word_acquire(&heap->b);
		word_acquire(&heap->a);
		heap->total++;
		word_release(&heap->a);
		word_release(&heap->b);
	}
	if (is("old")) {
		old_acquire(&ob);
		old_acquire(&oa);
		total++;
		old_release(&oa);
		old_release(&ob);
	}
	if (is("mutex")) {
		pthread_mutex_lock(&mutex);
		word_acquire(&wa);
		total++;
		word_release(&wa);
		pthread_mutex_unlock(&mutex);
	}
	if (is("tried")) {
		word_acquire(&wb);
		if (word_try(&wa)) {
			total++;
			word_release(&wa);
		}
		word_release(&wb);
	}
	if (is("gate")) {
		word_acquire(&gate);
		two(&wb, &wa);
		word_release(&gate);
	}
	if (is("contended")) {
		contend(&gate);
		two(&wb, &wa);
	}
	if (is("looked")) { // it goes on only once nobody holds a
		while (atomic_load(&wa.word)) sched_yield();
		two(&wb, &wa);
	}
	if (is("once")) {
		word_acquire(&wa);
		if (atomic_load(&once)) got = box;
		word_release(&wa);
	}
	if (is("sequence")) {
		while (atomic_load(&sequence) != 2) sched_yield();
		got = box;
	}
	if (is("handed")) {
		while (!atomic_load(&ready)) sched_yield();
		got = box;
		atomic_store(&ready, 0);
		atomic_store(&full, 0);
		two(&wa, &wb);
		put(2);
	}
	if (is("opened")) {
		while (!atomic_load(&wb.word)) sched_yield();
		got = box;
		word_release(&wb);
		word_release(&wa);
		two(&wb, &wa);
	}
	return NULL;
}

int main(int argc, char **argv) {
	pthread_t t, u;
	mode = argc > 1 ? argv[1] : "";
	heap = calloc(1, sizeof *heap);
	atomic_init(&heap->a.word, 0);
	atomic_init(&heap->b.word, 0);
	pthread_create(&t, NULL, first, NULL);
	if (is("joined")) pthread_join(t, NULL);
	else if (!is("contended")) usleep(100000);
	pthread_create(&u, NULL, second, NULL);
	if (!is("joined")) pthread_join(t, NULL);
	pthread_join(u, NULL);
	printf("%ld\n", total + contended + got + heap->total);
	return 0;
}
