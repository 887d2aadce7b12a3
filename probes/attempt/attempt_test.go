package attempt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/attempt"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// Each function of these programs begins with yes_ if it repeats its attempts until one succeeds and leaves no trace of
// failures, with counts_ if it does but leaves a trace, with no_ if it does not.
const attemptsC = `
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define PAUSE __asm__ volatile ("pause")
struct object { long data; atomic_flag flag; atomic_int word; _Atomic bool busy; int plain; struct object *next; };
static atomic_flag flag = ATOMIC_FLAG_INIT;
static atomic_int word;
static int plain;
long table[8];
void other(void);

void yes_flag(void) { while (atomic_flag_test_and_set(&flag)) ; }
void yes_flag_yields(void) { while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire)) sched_yield(); }
void yes_pointer(struct object *o) { while (atomic_flag_test_and_set(&o->flag)) PAUSE; }
void yes_exchange(struct object *o) { while (atomic_exchange(&o->word, 1)) usleep(1); }
void yes_looks_first(struct object *o) {
	do { while (atomic_load_explicit(&o->word, memory_order_relaxed)) PAUSE; } while (atomic_exchange(&o->word, 1));
}
void yes_looks_after(struct object *o) {
	while (atomic_exchange(&o->word, 1)) while (atomic_load_explicit(&o->word, memory_order_relaxed)) PAUSE;
}
void yes_compares(struct object *o) { int zero = 0; while (!atomic_compare_exchange_strong(&o->word, &zero, 1)) zero = 0; }
void yes_compares_weakly(void) {
	for (;;) {
		int zero = 0;
		if (atomic_load(&word) == 0 && atomic_compare_exchange_weak(&word, &zero, 7)) return;
		sched_yield();
	}
}
void yes_looks_compares(struct object *o) {
	for (;;) {
		int zero = 0;
		while (atomic_load_explicit(&o->word, memory_order_relaxed)) sched_yield();
		if (atomic_compare_exchange_weak(&o->word, &zero, 1)) return;
	}
}
void yes_legacy(struct object *o) { while (__sync_lock_test_and_set(&o->plain, 1)) while (*(volatile int *)&o->plain) PAUSE; }
void yes_legacy_compares(void) { while (!__sync_bool_compare_and_swap(&plain, 0, 1)) PAUSE; }
void yes_busy(struct object *o) { bool no = false; while (!atomic_compare_exchange_weak(&o->busy, &no, true)) no = false; }
void yes_sleeps(struct object *o) {
	struct timespec t = {0, 1000};
	while (atomic_exchange(&o->word, 1)) nanosleep(&t, 0);
}
void yes_backs_off(struct object *o) {
	for (int n = 1; atomic_exchange(&o->word, 1); n = n < 64 ? n * 2 : n) for (int i = 0; i < n; i++) PAUSE;
}
void yes_gives_up_spinning(struct object *o) { for (int n = 0; atomic_exchange(&o->word, 1); ) if (++n > 100) { n = 0; sched_yield(); } }
void counts_waits(struct object *o) {
	int c = 0;
	if (atomic_compare_exchange_strong(&o->word, &c, 1)) return;
	while (atomic_exchange(&o->word, 2)) syscall(SYS_futex, &o->word, FUTEX_WAIT, 2, 0, 0, 0);
}
long yes_then_works(struct object *o, long n) { while (atomic_exchange(&o->word, 1)) PAUSE; return o->data + n; }

int counts_returned(struct object *o) { int n = 0; while (atomic_exchange(&o->word, 1)) n++; return n; }
void counts_stored(struct object *o) { int n = 0; while (atomic_exchange(&o->word, 1)) n++; o->data = n; }

int no_tries(struct object *o) { return !atomic_exchange(&o->word, 1); }
void no_claims(struct object *o) { if (!atomic_exchange(&o->word, 1)) o->data++; }
int no_bounded(struct object *o) { for (int i = 0; i < 100; i++) if (!atomic_exchange(&o->word, 1)) return 1; return 0; }
void no_works_meanwhile(struct object *o) { while (atomic_exchange(&o->word, 1)) o->data++; }
void no_calls(struct object *o) { while (atomic_exchange(&o->word, 1)) other(); }
void no_prints(struct object *o) { while (atomic_exchange(&o->word, 1)) puts("wait"); }
void no_next(struct object *o) { while (atomic_exchange(&o->word, 1)) o = o->next; }
void no_push(struct object **head, struct object *o) {
	do o->next = *head; while (!__sync_bool_compare_and_swap(head, o->next, o));
}
void no_maximum(struct object *o, int n) {
	int old = atomic_load(&o->word);
	while (old < n && !atomic_compare_exchange_weak(&o->word, &old, n)) ;
}
int no_stops(struct object *o) { while (atomic_exchange(&o->word, 1)) if (plain) return 0; return 1; }
int no_slots(void) { for (int i = 0; ; i = (i + 1) & 7) if (!atomic_exchange((atomic_long *)&table[i], 1)) return i; }
void no_time(struct object *o) { time_t end = time(0) + 9; while (atomic_exchange(&o->word, 1)) if (time(0) > end) break; }
void other(void) { table[1]++; }
int main(int argc, char **argv) { return argc + !argv + (no_claims != NULL); }
`

// loops returns the prefixes of the names that the functions of a program should have, by the names that they have.
func loops(t *testing.T, compiler, source string, flags ...string) map[string]string {
	t.Helper()
	f := built(t, compiler, source, flags...)
	im := cheapsite.NewImage(f)
	c := attempt.NewCode(f, im)
	c.Results = func(addr uint64) insn.RegSet {
		if name := f.FunctionName(addr); slices.Contains([]string{"counts_returned", "yes_then_works"}, name) || strings.HasPrefix(name, "no_") {
			return 1 << insn.RAX
		}
		return 0
	}
	got := map[string]string{}
	for _, fn := range f.Functions() {
		name := f.FunctionName(fn.Lo)
		if !strings.HasPrefix(name, "yes_") && !strings.HasPrefix(name, "no_") && !strings.HasPrefix(name, "counts_") {
			continue
		}
		kind := ""
		im.Sweep(fn, func(in *insn.Inst) bool {
			if !in.Locked || in.NMem == 0 {
				return true
			}
			l, ok := attempt.Find(c, in.Addr)
			now := "no_"
			switch {
			case ok && l.Traceless:
				now = "yes_"
			case ok:
				now = "counts_"
			}
			for _, look := range l.Looks {
				if ok && !attempt.Leads(c, look, append(l.Attempts, in.Addr)) {
					t.Errorf("%s: the load at 0x%x does not lead to an attempt", name, look)
				}
			}
			if kind == "" || now < kind {
				kind = now // of several attempts the worst one counts
			}
			return true
		})
		got[name] = kind
	}
	return got
}

// TestFind checks, at several levels of optimisation, which attempts are repeated.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		compiler string
		// unseen are functions of which that is not shown, by the level.
		unseen map[string][]string
	}{
		{"gcc", nil},
		{"clang-19", map[string][]string{"-O0": {"counts_waits"}}},
	} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-Os", "-O3"} {
			t.Run(c.compiler+level, func(t *testing.T) {
				for name, got := range loops(t, c.compiler, attemptsC, level) {
					if slices.Contains(c.unseen[level], name) {
						continue
					}
					if !strings.HasPrefix(name, got) || got == "" {
						t.Errorf("%s: %q", name, got)
					}
				}
			})
		}
	}
}
