// Functions that acquire two locks by atomic instructions of their own. Their names say whether the code between the
// two depends on memory that another thread may write: yes_ (nothing does) or no_. What is read of
// the variable recorded is recorded.
int a, b, shared;
volatile int recorded;
extern void unknown(int *);

static inline __attribute__((always_inline)) void acquire(int *lock)
{
	int old = 0;

	__asm__ volatile("lock cmpxchgl %2, %1" : "+a"(old), "+m"(*lock) : "r"(1) : "cc", "memory");
	if (old)
		unknown(lock);
}

#define BOTH(between) acquire(p); between; acquire(q)
#define F __attribute__((noinline, noclone)) void

F yes_adjacent(int *p, int *q, int n) { BOTH(); }
F yes_counts(int *p, int *q, int n) { BOTH(shared++); }
F yes_recorded(int *p, int *q, int n) { BOTH(if (recorded) shared = n); }
F yes_stops(int *p, int *q, int n) { BOTH(if (recorded) { unknown(p); __builtin_trap(); }); }
F no_reads_for_a_branch(int *p, int *q, int n) { BOTH(if (shared) shared = n); }
F no_calls(int *p, int *q, int n) { BOTH(if (n) unknown(p)); }
F no_lock_by_pointer(int *p, int **q, int n) { acquire(p); acquire(*q); }
F no_other_between(int *p, int *q, int n) { BOTH(acquire(&b); if (shared) return); }

#define CALL(f) f(&a, (void *)&b, argc)
int main(int argc, char **argv)
{
#include "calls.h"
	return 0;
}
