package probes

import (
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestLooks checks in which functions of a library without debug information there are loads by which a thread may look
// at what another one has stored: that of a letter's state, which is stored after the letter.
func TestLooks(t *testing.T) {
	const source = `
struct box { int letter; char state; long count, most, unrelated; };
int put(struct box *b, int n) { if (__atomic_load_n(&b->state, __ATOMIC_ACQUIRE)) return 0; b->letter = n; __atomic_store_n(&b->state, 1, __ATOMIC_RELEASE); return 1; }
int take(struct box *b) { if (!__atomic_load_n(&b->state, __ATOMIC_ACQUIRE)) return -1; int n = b->letter; __atomic_store_n(&b->state, 0, __ATOMIC_RELEASE); return n; }
int peek(struct box *b) { return b->state; }
int never_stored(struct box *b) { if (!b->most) return 0; return b->letter; }
void first(struct box *b) { b->count = 1; }
int counted(struct box *b) { if (b->count > 3) return b->letter; return 0; }
int alone(struct box *b) { if (b->state) return 1; return 0; }
`
	program := build(t, "gcc", `int main(void) { return 0; }`, "-O1")
	for _, tt := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"without debug information", []string{"-O2"}, []string{"put", "take"}},
		{"with it", []string{"-O2", "-g"}, nil},
	} {
		p := NewPlanner(Options{Atomics: true, Table: table(t)})
		if _, err := p.Plan(program); err != nil {
			t.Fatal(err)
		}
		plan, err := p.Plan(build(t, "gcc", source, append(tt.flags, "-shared", "-fPIC")...))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, probe := range plan.UnseenProbes {
			if fn, ok := plan.File.FunctionAt(probe.At); ok && probe.What == elf.UnseenLook {
				got = append(got, plan.File.FunctionName(fn.Lo))
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
