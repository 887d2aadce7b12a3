// Functions that lock `first`, read `value` (1 in the run, 0 in the other execution) and lock `second`. The names say
// whether the thread certainly does something else then.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
int value, sink;
double real;
pthread_mutex_t *chosen;
long table[8];
__thread int copy;
struct status { long serial; int a, b, over; } status;
void unknown(int *p);
#define CALL(f) f(argv, argc)

#define F __attribute__((noinline, noclone)) void
#define BEGIN pthread_mutex_lock(&first)
#define END pthread_mutex_unlock(&first)
#define NEXT pthread_mutex_lock(&second), pthread_mutex_unlock(&second)

F yes_returns(void *p, long n) { BEGIN; int v = value; END; if (v) NEXT; }
F no_unused(void *p, long n) { BEGIN; sink = value; END; NEXT; }
F no_meets_again(void *p, long n) { BEGIN; if (value) sink++; END; NEXT; }
F yes_compared(void *p, long n) { BEGIN; int v = value; END; if (v == n) NEXT; }
F no_less(void *p, long n) { BEGIN; int v = value; END; if (v > n) NEXT; }
F no_two_ways(void *p, long n) { BEGIN; int v = value; END; if (v == n) sink++; NEXT; }
F yes_local(void *p, long n) { BEGIN; copy = value; END; if (copy) NEXT; }
F yes_heap(void *p, long n) { BEGIN; *(int *)p = value; END; if (*(int *)p) NEXT; }
F no_heap_given(void *p, long n) { BEGIN; *(int *)p = value; END; unknown(p); if (*(int *)p) NEXT; }
F no_heap_later(void *p, long n) { BEGIN; *(int *)p = value; END; if (*(int *)p + sink) NEXT; }
F yes_exits(void *p, long n) { BEGIN; int v = value; END; if (!v) pthread_exit(NULL); NEXT; }
F yes_lock(void *p, long n) { BEGIN; int v = value; END; pthread_mutex_lock(v ? &second : &first); }
F yes_element(void *p, long n) { BEGIN; int v = value; END; pthread_mutex_lock((pthread_mutex_t *)p + v); }
F no_lock(void *p, long n) { BEGIN; int v = value; END; pthread_mutex_lock(p); pthread_mutex_unlock((pthread_mutex_t *)p + v); }
F yes_double(void *p, long n) { BEGIN; double v = real; END; if (v < 0.5) return; NEXT; }
F no_double(void *p, long n) { BEGIN; double v = real; END; if (v < -1) return; NEXT; }
F yes_compares(void *p, long n) { char s[4]; BEGIN; memcpy(s, &value, 4); END; if (!strcmp(s, "\1")) NEXT; }
F no_compares(void *p, long n) { char s[4]; BEGIN; memcpy(s, &value, 4); END; if (strcmp(s, "\2") < 0) NEXT; }
F yes_allocates(void *p, long n) { BEGIN; pthread_mutex_t *m = chosen; END; if (!m) m = malloc(64); pthread_mutex_lock(m); }
F no_finds(void *p, long n) { BEGIN; pthread_mutex_t *m = chosen; END; if (!m) m = *(pthread_mutex_t **)p; pthread_mutex_lock(m); }
F yes_loop(void *p, long n) { BEGIN; int v = value; END; for (int i = 0; i < v; i++) NEXT; }
F yes_waits(void *p, long n) { BEGIN; while (!value) pthread_cond_wait(p, &first); END; NEXT; }
F yes_again(void *p, long n) { for (;;) { BEGIN; int v = value; END; if (!v) { usleep(1); continue; } NEXT; if (sink) return; } }

__attribute__((noinline, noclone)) static void get(struct status *s) { BEGIN; struct status c = status; END; *s = c; }
F yes_structure(void *p, long n) { struct status s; get(&s); for (int i = 0; i < s.over; i++) NEXT; }
__attribute__((noinline, noclone)) static void deep(void) { BEGIN; int v = value; END; if (!v) pthread_exit(NULL); }
F yes_deep(void *p, long n) { deep(); NEXT; }
__attribute__((noinline, noclone)) static void answer(int *out) { BEGIN; *out = value; END; }
F yes_returned(void *p, long n) { int v; answer(&v); if (v) NEXT; }
F no_returned(void *p, long n) { int v; answer(&v); unknown(&v); if (v) NEXT; }

__attribute__((noinline, noclone)) static void nested(void) { NEXT; }
__attribute__((noinline, noclone)) static void skipped(void) { sink--; }
void (*const steps[])(void) = {skipped, nested};
__attribute__((noinline)) void step(void *p, long n) { BEGIN; int v = value; END; steps[v](); }

int main(int argc, char **argv) {
#include "calls.h"
	return 0;
}
