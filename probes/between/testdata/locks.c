// Functions that lock two mutexes. Their names say whether the code between the two calls depends on
// memory that another thread may write: yes_ (nothing does) or no_.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int shared, flag, table[8];
static const int fixed[4] = {1, 2, 3, 4};
struct account { long balance; pthread_mutex_t m; struct account *next; pthread_mutex_t *lock; } *first;
int *escaped;
extern void unknown(int *);

#define BOTH(between) pthread_mutex_lock(&a); between; pthread_mutex_lock(&b); shared++; pthread_mutex_unlock(&b); pthread_mutex_unlock(&a)
#define F __attribute__((noinline, noclone)) void

F yes_adjacent(struct account *p, int n) { BOTH(); }
F yes_writes(struct account *p, int n) { BOTH(table[n] = 1); }
F yes_counts(struct account *p, int n) { BOTH(shared++); }
F yes_two_counters(struct account *p, int n) { BOTH((shared += n, flag++)); }
F no_reads_for_a_branch(struct account *p, int n) { BOTH(if (flag) shared++); }
F no_one_of_two_branches(struct account *p, int n) { BOTH(if (n) { shared = 1; } else if (flag) { table[1] = 2; }); }
F yes_branch_on_argument(struct account *p, int n) { BOTH(if (n) shared = 1; else table[2] = 3); }
F no_waits_for_a_flag(struct account *p, int n) { BOTH(while (!*(volatile int *)&flag) shared = n); }
F yes_loop_on_argument(struct account *p, int n) { BOTH(for (int i = 0; i < n; i++) ((volatile int *)table)[i & 7] = i); }
F no_follows_a_pointer(struct account *p, int n) { BOTH(first->next->balance = 1); }
F yes_members(struct account *p, int n) {
	pthread_mutex_lock(&p->m);
	p->balance -= n;
	pthread_mutex_lock(&p[1].m);
	p[1].balance += n;
	pthread_mutex_unlock(&p[1].m);
	pthread_mutex_unlock(&p->m);
}
F no_lock_by_pointer(struct account *p, int n) {
	pthread_mutex_lock(&p->m);
	pthread_mutex_lock(p->lock);
	p->balance = n;
	pthread_mutex_unlock(p->lock);
	pthread_mutex_unlock(&p->m);
}
F no_lock_of_next(struct account *p, int n) {
	pthread_mutex_lock(&p->m);
	pthread_mutex_lock(&p->next->m);
	p->balance = n;
	pthread_mutex_unlock(&p->next->m);
	pthread_mutex_unlock(&p->m);
}
F yes_lock_by_pointer_read_before(struct account *p, int n) {
	pthread_mutex_t *volatile second = p->lock;
	pthread_mutex_t *it = second;
	pthread_mutex_lock(&p->m);
	pthread_mutex_lock(it);
	p->balance = n;
	pthread_mutex_unlock(it);
	pthread_mutex_unlock(&p->m);
}
F no_calls_malloc(struct account *p, int n) { BOTH(p->next = malloc(sizeof *p)); }
static __attribute__((noinline)) int reader(void) { return flag; }
static __attribute__((noinline)) int adder(int x) { return x + 3; }
F no_callee_reads(struct account *p, int n) { BOTH(if (reader()) shared = 1); }
F yes_callee_adds(struct account *p, int n) { BOTH(if (adder(n) > 5) shared = 1); }
F yes_constant(struct account *p, int n) { BOTH(if (fixed[n & 3] == 2) shared = 1); }
F no_keeps(struct account *p, int n) {
	pthread_mutex_lock(&a);
	int x = flag;
	pthread_mutex_lock(&b);
	if (x) shared++;
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
}
F no_own_stack_that_escaped(struct account *p, int n) {
	volatile int local = n;
	escaped = (int *)&local;
	BOTH(if (local) shared = 1);
}
F yes_own_stack(struct account *p, int n) {
	volatile int local = n;
	BOTH(if (local) shared = 1);
}
F no_own_stack_passed_on(struct account *p, int n) {
	volatile int local = n;
	unknown((int *)&local);
	BOTH(if (local) shared = 1);
}
static __attribute__((noinline)) void fill(volatile int *to, int n) { *to = n; }
F yes_own_stack_filled(struct account *p, int n) {
	volatile int local = n;
	fill(&local, n);
	BOTH(if (local) shared = 1);
}
static __attribute__((noinline)) void publish(volatile int *to) { escaped = (int *)to; }
F no_own_stack_published(struct account *p, int n) {
	volatile int local = n;
	publish(&local);
	BOTH(if (local) shared = 1);
}
static __attribute__((noinline)) void hang(struct account *list, struct account *it) { list->next = it; }
F no_own_stack_in_list(struct account *p, int n) {
	struct account local;
	volatile long *balance = &local.balance;
	*balance = n;
	hang(p, &local);
	BOTH(if (*balance) shared = 1);
}
F no_call_by_pointer(struct account *p, int n) { void (*f)(int) = (void (*)(int))(long)n; BOTH(f(1)); }
F no_copies(struct account *p, int n) { BOTH(if (memcmp(p, first, sizeof *p)) shared = 1); }
F no_divides(struct account *p, int n) { BOTH(shared = n / flag); }
F no_atomic(struct account *p, int n) { BOTH(if (__atomic_fetch_add(&flag, 1, __ATOMIC_SEQ_CST)) shared = 1); }
F no_clock(struct account *p, int n) { BOTH(shared = __builtin_ia32_rdtsc() & 1); }
F no_select(struct account *p, int n) { BOTH(pthread_mutex_lock(flag ? &p->m : &a)); }
F no_switch(struct account *p, int n) {
	BOTH(switch (flag) { case 0: shared = 4; break; case 1: shared = 9; break; case 2: shared = 1; break; case 3: table[n] = 1; break; case 7: table[n] = 7; break; default: flag = 3; });
}
static void enter(struct account *p) { pthread_mutex_lock(&p->m); }
static __attribute__((noinline)) void enter2(struct account *p) { pthread_mutex_lock(&p->m); }
F yes_helpers(struct account *p, int n) { enter(p); p->balance -= n; enter(p + 1); p[1].balance += n; pthread_mutex_unlock(&p[1].m); pthread_mutex_unlock(&p->m); }
F yes_helpers2(struct account *p, int n) { enter2(p); p->balance -= n; enter2(p + 1); p[1].balance += n; pthread_mutex_unlock(&p[1].m); pthread_mutex_unlock(&p->m); }
static __attribute__((noinline)) void checked(struct account *p) { if (p->balance) pthread_mutex_lock(&p->m); }
F no_helper_reads(struct account *p, int n) { checked(p); checked(p + 1); p->balance = p[1].balance = n; pthread_mutex_unlock(&p[1].m); pthread_mutex_unlock(&p->m); }
F yes_status(struct account *p, int n) {
	if (pthread_mutex_lock(&a) != 0) { unknown(&table[1]); return; }
	if (pthread_mutex_lock(&b) != 0) { pthread_mutex_unlock(&a); return; }
	shared++;
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
}
F yes_may_return(struct account *p, int n) {
	pthread_mutex_lock(&a);
	if (n == 7) { pthread_mutex_unlock(&a); return; }
	pthread_mutex_lock(&b);
	shared++;
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
}
F yes_array_on_stack(struct account *p, int n) {
	volatile int counts[4] = {0};
	pthread_mutex_lock(&a);
	counts[n & 3]++;
	if (counts[1]) shared = 1;
	pthread_mutex_lock(&b);
	shared++;
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
}
F no_constant_that_others_change(struct account *p, int n) {
	volatile int local = 0;
	escaped = (int *)&local;
	int x = local;
	BOTH(if (x && flag) shared = 1);
}
F no_float(struct account *p, int n) { BOTH(if (*(volatile float *)&flag > 1.5f) shared = 1); }
static __thread int depth;
F yes_thread_local(struct account *p, int n) { BOTH(if (depth++) shared = 1); }
F no_thread_local_kept(struct account *p, int n) { BOTH(depth = flag); }

#define CALL(f) f(&accounts[argc], argc)
struct account accounts[4];
int main(int argc, char **argv) {
#include "calls.h"
	return 0;
}
