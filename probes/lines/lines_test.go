package lines_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/lines"
	"github.com/tracepredict/tracepredict/probes/symbolize"
	"github.com/tracepredict/tracepredict/probes/unwind"
)

// A line that ends in "// NAME<" is the first of the lines NAME, one that ends in "// >NAME" the last.
const program = `
#include <stdlib.h>
volatile int shared;
void outside(int);
__attribute__((noinline)) int straight(int n) {
	shared = n; // before
	shared = n + 1; // straight<
	outside(n);
	shared = n + 2; // >straight
	return n;
}
__attribute__((noinline)) int loop(int n) {
	int sum = 0;
	for (int i = 0; i < n; i++) {
		outside(i);
		sum += i; // loop<
		outside(sum); // >loop
		shared = sum;
	}
	return sum;
}
__attribute__((noinline)) int returns(int n) {
	outside(n);
	if (n > 3) // returns<
		return n;
	outside(n + 1); // >returns
	return n + 2;
}
__attribute__((noinline)) int cut(int n) {
	int sum = 0;
	for (int i = 0; i < n; i++) { // cut<
		outside(i); // >cut
		sum += i;
		shared = sum;
	}
	return sum;
}
static inline __attribute__((always_inline)) void small(int n) {
	shared = n; // inlined<
	outside(n); // >inlined
}
__attribute__((noinline)) int calls(int n) {
	small(n); // calls< >calls
	return n;
}
__attribute__((noinline)) int computed(int n) {
	static void *volatile to[2];
	to[0] = &&a, to[1] = &&b;
	shared = n; // computed<
	goto *to[n & 1];
a:	outside(1);
b:	outside(2); // >computed
	return 0;
}
__attribute__((noinline)) int two(int n) {
	return n; // two<
}
__attribute__((noinline)) int more(int n) {
	return n + 1; // >two
}
__attribute__((noinline)) int tail(int n) {
	outside(n);
	shared = n; // tail<
	return atoi("7"); // >tail
}
int main(void) { shared = tail(3); return straight(1) + loop(2) + returns(3) + cut(4) + calls(5) + computed(6) + two(7) + more(8); }
void outside(int n) { shared = n; }
`

// compiled returns the program, compiled, and its marked lines by name.
func compiled(t *testing.T, compiler string, flags ...string) (*lines.Code, map[string]lines.Lines) {
	t.Helper()
	testtool.Need(t, compiler)
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, append(flags, "-g", "-o", binary, source)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, out)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	marked := map[string]lines.Lines{}
	for i, line := range strings.Split(program, "\n") {
		_, marks, _ := strings.Cut(line, "// ")
		for _, mark := range strings.Fields(marks) {
			name := strings.Trim(mark, "<>")
			l := marked[name]
			l.File = "program.c"
			if strings.HasSuffix(mark, "<") {
				l.First = i + 1
			} else {
				l.Last = i + 1
			}
			marked[name] = l
		}
	}
	return &lines.Code{File: f, Image: code.NewImage(f), Names: symbolize.New(f), Stack: unwind.New(f)}, marked
}

// TestEdges: between two instructions one of which is in the lines there is an edge, and no other instruction than those
// behind such a step, returns and jumps out of the function is one.
func TestEdges(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang-19"} {
		for _, flags := range [][]string{{"-O0"}, {"-O0", "-fcf-protection=full"}, {"-O1"}, {"-O2"}} {
			t.Run(fmt.Sprint(compiler, flags), func(t *testing.T) {
				in, marked := compiled(t, compiler, flags...)
				for _, name := range []string{"straight", "loop", "returns", "calls", "tail"} {
					r, err := in.Find(marked[name])
					var refused *lines.Refused
					if errors.As(err, &refused) && flags[0] != "-O0" && strings.Contains(refused.Why, "comes back without a loop") {
						continue // the optimiser decides
					}
					if err != nil || r == nil {
						t.Errorf("%s: %v, %v", name, r, err)
						continue
					}
					if r.Function != name {
						t.Errorf("%s is in %s", name, r.Function)
					}
					checkEdges(t, in, r)
				}
			})
		}
	}
}

// checkEdges compares the edges of a region with those between the instructions of its function, which has no other.
func checkEdges(t *testing.T, in *lines.Code, r *lines.Region) {
	t.Helper()
	want := map[lines.Edge]bool{}
	sym := in.File.Lookup(r.Function)[0]
	fn := elf.Range{Lo: sym.Addr, Hi: sym.Addr + sym.Size}
	if r.Contains(fn.Lo) {
		want[lines.Edge{At: fn.Lo, Enter: true}] = true
	}
	in.Image.Sweep(fn, func(i *insn.Inst) bool {
		inside := r.Contains(i.Addr)
		for _, to := range i.Next() {
			if fn.Contains(to) && r.Contains(to) != inside {
				want[lines.Edge{At: to, Enter: !inside}] = true
			}
			if !fn.Contains(to) && i.Kind.Branches() && inside {
				want[lines.Edge{At: i.Addr, Out: true, When: i.Cond}] = true
			}
		}
		if i.Kind == insn.Return && inside {
			want[lines.Edge{At: i.Addr, Out: true}] = true
		}
		return true
	})
	if len(want) != len(r.Edges) || slices.ContainsFunc(r.Edges, func(e lines.Edge) bool { return !want[e] }) {
		t.Errorf("%s: edges %+v, want %+v", r.Function, r.Edges, want)
	}
}

// TestRefused: lines that have no code of their own are refused with the reason.
func TestRefused(t *testing.T) {
	in, marked := compiled(t, "gcc", "-O0")
	marked["nowhere"] = lines.Lines{File: "program.c", First: 1, Last: 1}
	for name, want := range map[string]string{
		"cut":      "control goes out of the lines and comes back without a loop",
		"inlined":  "code of the lines is inlined into calls",
		"two":      "their code is in several functions: more, two",
		"computed": "computed has an indirect jump whose targets are not known",
		"nowhere":  "the lines have no code, the first line of program.c that has is",
	} {
		if r, err := in.Find(marked[name]); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ": ") {
			t.Errorf("%s: %v, %v, want %q", name, r, err, want)
		}
	}
	if r, err := in.Find(lines.Lines{File: "gram.c", First: 5, Last: 9}); r != nil || err != nil {
		t.Errorf("a file that no unit has: %v, %v", r, err)
	}
}

// TestResets: the C library's longjmp and the unwinder have instructions at which they remove frames.
func TestResets(t *testing.T) {
	for _, name := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libgcc_s.so.1"} {
		f, err := elf.Open(name)
		if err != nil {
			t.Skip(err)
		}
		defer f.Close()
		in := &lines.Code{File: f, Image: code.NewImage(f)}
		found := in.Resets()
		if len(found) == 0 {
			t.Errorf("%s has none", name)
		}
		for _, r := range found {
			if i, err := in.Image.Decode(r.At); err != nil || i.Kind != insn.IndirectJump && i.Kind != insn.Return {
				t.Errorf("%s at 0x%x is no jump: %v", r.Function, r.At, err)
			}
		}
	}
}
