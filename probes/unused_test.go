package probes

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
)

// TestPrinted finds reads whose values the thread at most prints, and tells them from those that decide
// something, or may.
func TestPrinted(t *testing.T) {
	source := `
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
_Atomic int f;
_Atomic double d;
int seen, table[9];
#define F __attribute__((noinline))
F void no_float(void) { if (atomic_load(&d) < 0.5) seen = 1; }
F void yes_print(void) { printf("%d\n", atomic_load(&f)); }
F void yes_stream(void) { fprintf(stderr, "%d\n", atomic_load(&f)); seen = 1; }
F void no_branch(void) { if (atomic_load(&f)) seen = 1; }
F void no_loop(void) { while (!atomic_load(&f)) ; }
F void no_count(void) { if (printf("%d\n", atomic_load(&f)) > 2) seen = 1; }
F void no_index(void) { printf("%d\n", table[atomic_load(&f)]); }
F void no_kept(void) { seen = atomic_load(&f); }
F void no_sleep(void) { usleep(atomic_load(&f)); }
F int no_returned(void) { return atomic_load(&f); }
F void no_also(void) { int v = atomic_load(&f); printf("%d\n", v); if (v) seen = 1; }
int main(void) {
	atomic_store(&f, 1);
	yes_print(); no_float(); yes_stream(); no_branch(); no_loop(); no_count(); no_index(); no_kept(); no_sleep(); no_also();
	return no_returned();
}
`
	for _, c := range []struct{ compiler, flag string }{{"gcc", "-O1"}, {"gcc", "-O2"}, {"clang-19", "-O2"}} {
		found := map[string]bool{}
		for _, s := range plan(t, build(t, c.compiler, source, c.flag, "-g", "-no-pie"), Options{Atomics: true}).Sites {
			if !s.Sync || bpf.Op(s.BPF.Op) != bpf.OpRead {
				continue
			}
			found[s.Function] = true
			if want := strings.HasPrefix(s.Function, "yes_"); s.ResultUnused != want {
				t.Errorf("%s %s: %s: printed %v", c.compiler, c.flag, s.Function, s.ResultUnused)
			}
		}
		if len(found) < 6 {
			t.Errorf("%s %s: reads in %d functions: the test shows nothing", c.compiler, c.flag, len(found))
		}
	}
}

// TestResultUnused checks which updates are known to leave nothing in their thread but the value that
// they write, and which exchanges are stores. The functions' names tell.
func TestResultUnused(t *testing.T) {
	source := `
#include <stdatomic.h>
#include <stdlib.h>
int n, seen, plain, bits;
_Atomic int f;
#define F __attribute__((noinline))
F void yes_add(void) { __atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST); seen = 1; }
F void yes_add_and_call(int a) { __atomic_fetch_add(&n, a, __ATOMIC_SEQ_CST); abort(); }
F void yes_or(void) { __atomic_fetch_or(&bits, 4, __ATOMIC_SEQ_CST); seen = 2; }
F void yes_in_loop(int k) { while (k-- > 0) __atomic_fetch_sub(&n, 1, __ATOMIC_RELAXED); }
F int no_add(void) { return __atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST); }
F void no_last(void) { if (__atomic_sub_fetch(&n, 1, __ATOMIC_SEQ_CST) == 0) seen = 1; }
F int no_bit(void) { return (__atomic_fetch_or(&bits, 8, __ATOMIC_SEQ_CST) & 8) != 0; }
F int store_constant(void) { atomic_store(&f, 1); return 2; }
F int store_argument(int v) { atomic_store(&f, v); return seen; }
F int no_exchange(void) { return atomic_exchange(&f, 1); }
F void no_kept(void) { seen = atomic_exchange(&f, 2); }
F void no_passed(void) { exit(atomic_exchange(&f, 3)); }
F static void use(int v) { seen = v; }
F void no_passed_on(void) { use(atomic_exchange(&f, 3)); }
F void no_lock(void) { while (atomic_exchange(&f, 1)) ; }
F void store_last(void) { atomic_store(&f, 4); }
int main(int argc, char **argv) {
	yes_add(); yes_or(); yes_in_loop(argc); no_add(); no_last(); no_bit(); store_constant(); store_argument(argc);
	no_exchange(); no_kept(); no_passed_on(); no_lock(); store_last();
	if (argc > 9) { yes_add_and_call(argc); no_passed(); }
	return 0;
}
`
	for _, c := range []struct{ compiler, flag string }{{"gcc", "-O0"}, {"gcc", "-O1"}, {"gcc", "-O2"}, {"clang-19", "-O0"}, {"clang-19", "-O2"}} {
		found := map[string]bool{}
		for _, s := range plan(t, build(t, c.compiler, source, c.flag, "-g", "-no-pie"), Options{Atomics: true}).Sites {
			if !s.Sync || bpf.Op(s.BPF.Op) != bpf.OpUpdate {
				continue
			}
			found[s.Function] = true
			if c.compiler != "gcc" && c.flag == "-O0" && strings.HasPrefix(s.Function, "yes_") {
				continue // each result is kept on the stack, used or not
			}
			wantUnused, wantStore := !strings.HasPrefix(s.Function, "no_"), strings.HasPrefix(s.Function, "store_")
			if s.ResultUnused != wantUnused || s.Store != wantStore {
				t.Errorf("%s %s: %s: unused %v, store %v", c.compiler, c.flag, s.Function, s.ResultUnused, s.Store)
			}
		}
		if len(found) < 10 {
			t.Errorf("%s %s: updates in %d functions: the test shows nothing", c.compiler, c.flag, len(found))
		}
	}
}
