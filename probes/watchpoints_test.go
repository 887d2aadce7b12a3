package probes

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/probes/watchpoint"
)

const pointed = `
long plain, first, second, third, fourth, fifth;
__attribute__((noinline)) void bump(long *p) { (*p)++; }
int main(void) {
	plain++;
	bump(&first); bump(&second); bump(&third); bump(&fourth); bump(&fifth);
	return 0;
}`

// TestChoice checks that variables are watched by probes if these observe all accesses, by
// watchpoints otherwise, and that the user must choose if there are too few watchpoints.
func TestChoice(t *testing.T) {
	all := Hardware{Registers: watchpoint.Registers}
	few := Hardware{Registers: 1, Why: "a debugger has the others"}
	escaping := []string{"first", "second", "third", "fourth", "fifth"}
	for _, c := range []struct {
		name   string
		opts   Options
		want   []string // watched by hardware
		tooFew bool
	}{
		{"nobody said so", Options{Watch: []string{"plain", "first"}}, nil, false},
		{"one of two", Options{Watch: []string{"plain", "first"}, Choose: all}, []string{"first"}, false},
		{"four", Options{Watch: escaping[:4], Choose: all}, escaping[:4], false},
		{"five", Options{Watch: escaping, Choose: all}, nil, true},
		{"named ones first", Options{Watch: escaping[:3], Hardware: []string{"plain"}, Choose: all}, []string{"plain", "first", "second", "third"}, false},
		{"too many beside named ones", Options{Watch: escaping[:4], Hardware: []string{"plain"}, Choose: all}, nil, true},
		{"as far as it goes", Options{Watch: escaping, Choose: few}, []string{"first"}, false},
		{"five named", Options{Hardware: escaping}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := NewPlanner(c.opts).Plan(build(t, "gcc", pointed, "-O1", "-g"))
			var tooMany *TooManyError
			if c.tooFew != errors.As(err, &tooMany) || err != nil && !c.tooFew {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			var got []string
			for _, w := range plan.Watchpoints {
				got = append(got, w.Variable.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("by hardware: %s", diff)
			}
			for _, s := range plan.Sites {
				for _, name := range got {
					if s.Variable == name {
						t.Errorf("%s has a probe at 0x%x too", name, s.Addr)
					}
				}
			}
		})
	}
}
