package probes

import (
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
)

// TestResultTested checks of which accesses it is known that the thread only compares the value with a constant. The
// functions' names tell, and say with which one: left0 is a comparison of what the access left.
func TestResultTested(t *testing.T) {
	source := `
#include <stdatomic.h>
#include <stdlib.h>
atomic_int n, seen;
atomic_llong both;
atomic_schar flag;
#define F __attribute__((noinline))
F void read0_flag(void) { if (flag) seen = 1; }
F void read0_count(void) { if (n == 0) seen = 1; }
F void read7_count(void) { if (n == 7) seen = 1; else seen = 2; }
F void read1_wide(void) { if (both == 0x100000001) seen = 1; }
F void left0_last(void) { if (atomic_fetch_sub(&n, 1) == 1) seen = 1; }
F void left0_first(void) { if (atomic_fetch_add(&n, 1) == -1) abort(); seen = 3; }
F void left1_first(void) { if (atomic_fetch_add(&n, 1) == 0) seen = 3; }
F void none_order(void) { if (n > 2) seen = 1; }
F void none_sign(void) { if (atomic_fetch_sub(&n, 1) <= 1) seen = 1; }
F void none_two(void) { int v = n; if (v == 1) seen = 1; else if (v == 2) seen = 4; }
F void none_kept(void) { int v = n; if (v == 1) seen = 1; seen = v; }
F int none_returned(void) { int v = n; if (v == 1) seen = 1; return v; }
F void none_exchange(void) { if (atomic_exchange(&n, 3) == 1) seen = 1; }
F void none_index(int *p) { if (p[n] == 1) seen = 1; }
int main(int argc, char **argv) {
	int some[9] = {0};
	read0_flag(); read0_count(); read7_count(); read1_wide(); left0_last(); left0_first(); left1_first(); none_order(); none_sign();
	none_two(); none_kept(); none_exchange(); none_index(some);
	return none_returned();
}
`
	for _, c := range []struct{ compiler, flag string }{{"gcc", "-O1"}, {"gcc", "-O2"}, {"clang-19", "-O2"}} {
		found := map[string]string{}
		for _, s := range plan(t, build(t, c.compiler, source, c.flag, "-g", "-no-pie"), Options{Atomics: true}).Sites {
			if op := bpf.Op(s.BPF.Op); s.Sync && op != bpf.OpWrite && s.Variable != "seen" {
				found[s.Function] += tests(s)
			}
		}
		for name, got := range found {
			if want, _, _ := strings.Cut(name, "_"); want != got {
				t.Errorf("%s %s: %s: the thread uses %s", c.compiler, c.flag, name, got)
			}
		}
		if len(found) < 12 {
			t.Errorf("%s %s: accesses in %d functions: the test shows nothing", c.compiler, c.flag, len(found))
		}
	}
}

// tests describes what a thread uses of a value, as the names of the functions do.
func tests(s Site) string {
	const counts = 1<<32 | 1
	value := s.Test.Value
	if bpf.Op(s.BPF.Op) == bpf.OpUpdate && !s.Test.Left {
		if value++; strings.HasSuffix(s.Function, "_last") {
			value -= 2
		}
		value &= 1<<32 - 1
	}
	op := map[bpf.Op]string{bpf.OpRead: "read", bpf.OpUpdate: "left"}[bpf.Op(s.BPF.Op)]
	switch {
	case !s.Test.Known:
		return "none"
	case value == 0:
		return op + "0"
	case value == 1 || value == counts:
		return op + "1"
	}
	return op + "7"
}
