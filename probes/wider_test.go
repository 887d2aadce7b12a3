package probes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
)

// TestWider checks which loads by name are known to be of more bytes than the variable has, and of how many bytes
// loads through pointers are. Stores, and what calls of library functions read, are not.
func TestWider(t *testing.T) {
	const source = `#include <string.h>
struct task { char kind, arg; int rest; };
struct task only = {1, 2, 3};
long count;
int both_of_only(void) { return only.kind == 3 && only.arg == 4; }
int arg_of_only(void) { return only.arg; }
long count_of(void) { return count; }
int both_of(struct task *t) { return t->kind == 3 && t->arg == 4; }
int arg_of(struct task *t) { return t->arg; }
void set(struct task *t) { t->kind = 3; t->arg = 4; only.arg = 5; count = 6; }
void copy(char *to, struct task *t, int n) { memcpy(to, t, n); }
int main(int argc, char **argv) { copy(argv[0], &only, argc); set(&only); return both_of(&only) + arg_of(&only) + both_of_only() + arg_of_only() + count_of(); }
`
	p := plan(t, build(t, "gcc", source, "-O1", "-g", "-fno-inline"), Options{Shared: true, Pointers: true})
	got := map[string]bool{}
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.ObservesAccess() {
			got[fmt.Sprintf("%s: %s of %s, wider %t, loads %d", p.Source(s.At).Function, bpf.Op(s.BPF.Op), s.Variable, s.Wider, s.Loads())] = true
		}
	}
	for _, want := range []string{
		"both_of_only: read of only.kind, wider true, loads 0", "both_of_only: read of only.arg, wider true, loads 0", "arg_of_only: read of only.arg, wider false, loads 0",
		"count_of: read of count, wider false, loads 0", "both_of: read of behind a pointer, wider false, loads 2", "arg_of: read of behind a pointer, wider false, loads 1",
		"set: write of only.arg, wider false, loads 0", "copy: read of behind a pointer, wider false, loads 0",
	} {
		if !got[want] {
			t.Errorf("not planned: %s (-want +got)\n%s", want, cmp.Diff(map[string]bool{want: true}, got))
		}
	}
	p = plan(t, build(t, "gcc", source, "-O1", "-fno-inline"), Options{Shared: true, Pointers: true})
	if !slices.ContainsFunc(p.Sites, func(s Site) bool { return strings.HasPrefix(s.Variable, "only") && s.Loads() == 2 }) {
		t.Errorf("without debug information, no load by name is known to be of two bytes that may be of several variables")
	}
}
