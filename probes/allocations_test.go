package probes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/cheapsite"
)

// allocationText describes a site of a call that allocates: "malloc of #1" at the call, "malloc done" behind it.
func allocationText(s *Site) string {
	argument := func(register uint8) string {
		if register == 0 {
			return ""
		}
		for n := 1; n <= 6; n++ {
			if registers := []uint8{0, 7, 6, 2, 1, 8, 9}; registers[n] == register-1 {
				return fmt.Sprintf("#%d", n)
			}
		}
		return "?"
	}
	d := &s.BPF.Access
	if bpf.Reach(d.Reach) == bpf.ReachReturned {
		return s.Callee + " done"
	}
	text := s.Callee + " of " + argument(d.Extra)
	if d.Times > 0 {
		text += "*" + argument(d.Times)
	}
	if s.BPF.Flags&bpf.SiteIndirect != 0 {
		text += " into " + argument(1+s.BPF.ObjectReg)
	}
	return text
}

// TestAllocations checks what is planned for calls of functions that allocate, and that nothing is for those that the
// program defines, for calls through pointers, and for jumps at the end of a function.
func TestAllocations(t *testing.T) {
	const c = "#include <stdlib.h>\nvoid *g; int main(void) { return 0; }\n"
	for _, x := range []struct {
		name, compiler, source string
		args                   []string
		want                   []string
	}{
		{"malloc", "gcc", c + "long *f(long n) { long *p = malloc(n); if (p) *p = 1; return p; }", nil, []string{"malloc of #1", "malloc done"}},
		{"without a stub", "gcc", c + "long *f(long n) { long *p = malloc(n); if (p) *p = 1; return p; }", []string{"-fno-plt"}, []string{"malloc of #1", "malloc done"}},
		{"static", "gcc", c + "long *f(long n) { long *p = malloc(n); if (p) *p = 1; return p; }", []string{"-static"}, []string{"malloc of #1", "malloc done"}},
		{"calloc", "gcc", c + "long *f(long n) { long *p = calloc(n, 8); if (p) *p = 1; return p; }", nil, []string{"calloc of #1*#2", "calloc done"}},
		{"realloc", "gcc", c + "long *f(long *p, long n) { p = realloc(p, n); if (p) *p = 1; return p; }", nil, []string{"realloc of #2", "realloc done"}},
		{"aligned", "gcc", c + "long *f(long n) { long *p = aligned_alloc(64, n); if (p) *p = 1; return p; }", nil, []string{"aligned_alloc of #2", "aligned_alloc done"}},
		{"into memory", "gcc", c + "int f(long n) { return posix_memalign(&g, 64, n) + 1; }", nil, []string{"posix_memalign of #3 into #1", "posix_memalign done"}},
		{"new", "g++", "int main() { return 0; }\nlong *f() { return new long(3); }", nil, []string{"operator new of #1", "operator new done"}},
		{"new[]", "g++", "int main() { return 0; }\nlong *f(long n) { return new long[n + 1]{2}; }", nil, []string{"operator new[] of #1", "operator new[] done"}},
		{"its own", "gcc", "static char b[64]; __attribute__((noinline)) void *malloc(unsigned long n) { return b + n; } long *f(long n) { long *p = malloc(n); if (p) *p = 1; return p; } int main(void) { return 0; }", []string{"-fno-builtin"}, nil},
		{"a jump", "gcc", c + "void *f(long n) { return malloc(n); }", []string{"-O2"}, nil},
		{"by a pointer", "gcc", c + "long f(void *(*get)(long), long n) { return (long)get(n) + 1; }", nil, nil},
		{"free", "gcc", c + "long f(void *p) { free(p); return 1; }", nil, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := plan(t, build(t, x.compiler, x.source, append([]string{"-O1", "-g"}, x.args...)...), Options{Atomics: true, Pointers: true})
			var got []string
			for i := range p.Sites {
				if s := &p.Sites[i]; s.Allocates() && (s.Function == "f" || s.Function == "f()" || s.Function == "f(long)") {
					got = append(got, allocationText(s))
				}
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("%s (notes: %q)", diff, plural.Texts(p.Notes))
			}
		})
	}
}

// TestAllocationIsNotPassed checks that the probe behind a call passes stores into the block and into the frame, and
// none that may give the block to another thread.
func TestAllocationIsNotPassed(t *testing.T) {
	const head = "#include <stdlib.h>\nlong *g, **h; void use(long *); int main(void) { return 0; }\n__attribute__((noinline)) void use(long *p) { g = p; }\n"
	for _, x := range []struct {
		name, source string
		moved        bool
	}{
		{"into the block", "void f(void) { long *p = malloc(8); *p = 7; use(p); }", true},
		{"into a variable", "void f(void) { long *p = malloc(8); g = p; use(p); }", false},
		{"through a pointer", "void f(long **h) { long *p = malloc(8); *h = p; use(p); }", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := plan(t, build(t, "gcc", head+x.source, "-O1", "-g"), Options{Atomics: true, Pointers: true})
			for i := range p.Sites {
				s := &p.Sites[i]
				if s.Allocates() && s.Function == "f" && bpf.Reach(s.BPF.Access.Reach) == bpf.ReachReturned && (s.Class == cheapsite.Emulated) != x.moved {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}
