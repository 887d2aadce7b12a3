package probes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/function"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

const armProgram = `
struct lock { int x; };
volatile long hits, total;
static struct lock lock;
#define APART __attribute__((noinline))
APART int queue_lock(struct lock *m) { while (__sync_lock_test_and_set(&m->x, 1)) { } return 0; }
APART int queue_unlock(struct lock *m) { __sync_lock_release(&m->x); return 0; }
APART long queue_put(volatile long *q, int v) { *q += v; hits++; return *q; }
void _start(void)
{
	for (int i = 0; i < 100; i++) {
		queue_lock(&lock);
		total += queue_put(&total, i);
		queue_unlock(&lock);
	}
	for (;;) { }
}
`

// armTable says what the locks of armProgram do.
const armTable = `
[[call]]
name = "queue_lock"
operation = "acquire"
kind = "spinlock"

[[call]]
name = "queue_unlock"
operation = "release"
kind = "spinlock"
`

// buildARM links a program for arm64.
func buildARM(t *testing.T, flags ...string) *elf.File {
	t.Helper()
	testtool.Need(t, "ld.lld")
	return build(t, "clang-19", armProgram, append([]string{"--target=aarch64-linux-gnu", "-nostdlib", "-ffreestanding", "-fuse-ld=lld", "-g", "-Wno-unused-command-line-argument"}, flags...)...)
}

// TestPlanARM64 checks that the plan of a program for arm64 has the calls, the returns and the
// accesses that the program makes, each at an instruction of its function, and none of the features
// that only x86-64 has.
func TestPlanARM64(t *testing.T) {
	var on []function.Pattern
	for _, text := range []string{"call queue_put(q, v)", "return queue_put -> r"} {
		p, err := function.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		on = append(on, p)
	}
	locks, err := synctab.Parse(strings.NewReader(armTable), "arm.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-O1", "-O2", "-O2 -fPIE -pie", "-O2 -march=armv8.2-a"} {
		t.Run(strings.ReplaceAll(flags, " ", ""), func(t *testing.T) {
			f := buildARM(t, strings.Fields(flags)...)
			if f.Arch() != insn.ARM64 {
				t.Fatalf("architecture %v", f.Arch())
			}
			p := planWith(t, f, table(t).Merge(locks), Options{Watch: []string{"hits", "total"}, On: on, Choose: Hardware{Registers: 4}})
			var got []string
			for _, s := range p.Sites {
				got = append(got, strings.TrimSpace(fmt.Sprint(s.Function, " ", armKind(&s))))
				fn, ok := f.FunctionAt(s.At)
				if !ok || !fn.Contains(s.Addr) || s.Addr%4 != 0 || s.Addr < s.At {
					t.Errorf("%+v is not in its function, 0x%x to 0x%x", s, fn.Lo, fn.Hi)
				}
			}
			slices.Sort(got)
			want := []string{"_start read total", "_start write total", "queue_lock acquire", "queue_lock none", "queue_put call",
				"queue_put read hits", "queue_put return", "queue_put write hits", "queue_unlock release"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sites (-want +got):\n%s", diff)
			}
			if len(p.Watchpoints) > 0 || !slices.ContainsFunc(p.Notes, func(n plural.Note) bool { return strings.Contains(n.Text, "total is watched by probes") }) {
				t.Errorf("%d watchpoints, notes %q", len(p.Watchpoints), plural.Texts(p.Notes))
			}
		})
	}
}

func armKind(s *Site) string {
	op := bpf.Op(s.BPF.Op).String()
	if s.Variable != "" {
		op += " " + s.Variable
	}
	return op
}
