package monitor

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

// BenchmarkNext steps monitors of three and of nine propositions by their
// tables and by their diagrams.
func BenchmarkNext(b *testing.B) {
	for name, f := range map[string]*ltl.Formula{"3": highWater(), "9": responses(3)} {
		m := mustLTL(b, f)
		bare := *m
		bare.table = nil
		for kind, m := range map[string]*Deterministic{"table": m, "diagram": &bare} {
			b.Run(kind+name, func(b *testing.B) {
				s := State(0)
				for i := range b.N {
					if s = m.next(s, Letter(i*0x9e3779b9>>7)); m.Bad(s) {
						s = 0
					}
				}
			})
		}
	}
}

// responses returns n independent properties at once, over 3n propositions.
func responses(n int) *ltl.Formula {
	all := ltl.Constant(true)
	for i := range n {
		all = of(all, ltl.And, is(ltl.Always, of(p(3*i), ltl.Implies, of(p(3*i+1), ltl.WeakUntil, p(3*i+2)))))
	}
	return all
}

// BenchmarkConstruct makes monitors of usual and of unusual size.
func BenchmarkConstruct(b *testing.B) {
	ago := p(0)
	for range 12 {
		ago = is(ltl.Yesterday, ago)
	}
	for name, f := range map[string]*ltl.Formula{
		"high_water":    highWater(),
		"six_responses": responses(6),
		"4096_states":   is(ltl.Always, of(p(1), ltl.Implies, ago)),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				mustLTL(b, f)
			}
		})
	}
	b.Run("expression_1000_states", func(b *testing.B) {
		any, a := ere.One(ere.Cube{}), ere.One(ere.Cube{True: 1})
		e := ere.Sequence(star(any), a, ere.Times(any, 9, 9))
		for b.Loop() {
			if _, err := FromERE(e, BadWords, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
