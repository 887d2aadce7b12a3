package monitor

import (
	"errors"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor/ere"
	"github.com/tracepredict/tracepredict/analysis/monitor/ltl"
)

func p(i int) *ltl.Formula { return ltl.Proposition(i) }

func is(o ltl.Op, f *ltl.Formula) *ltl.Formula { return ltl.Unary(o, f) }

func of(f *ltl.Formula, o ltl.Op, g *ltl.Formula) *ltl.Formula { return ltl.Binary(o, f, g) }

func TestSafetyIsDecidedByMeaning(t *testing.T) {
	for _, c := range []struct {
		formula *ltl.Formula
		guilty  []string // the eventualities to blame; nil for a safety property
	}{
		{is(ltl.Always, of(p(0), ltl.Implies, is(ltl.Once, p(1)))), nil},
		{of(p(0), ltl.WeakUntil, p(1)), nil},
		{of(of(p(0), ltl.Until, p(1)), ltl.Or, is(ltl.Always, p(0))), nil}, // a weak until
		{of(is(ltl.Eventually, p(0)), ltl.And, ltl.Constant(false)), nil},
		{of(is(ltl.Eventually, p(0)), ltl.Or, is(ltl.Always, is(ltl.Not, p(0)))), nil}, // true
		{is(ltl.Not, is(ltl.Eventually, p(0))), nil},
		{is(ltl.Eventually, is(ltl.Once, p(0))), []string{"eventually once p0"}},
		{is(ltl.Always, of(p(0), ltl.Implies, is(ltl.Eventually, is(ltl.Yesterday, p(0))))), nil}, // one step is enough
		{of(is(ltl.Always, p(0)), ltl.And, is(ltl.Eventually, p(1))), []string{"eventually p1"}},
		{is(ltl.Not, is(ltl.Always, p(0))), []string{"!(always p0)"}},
		{is(ltl.Always, of(p(0), ltl.Implies, of(p(1), ltl.Until, p(2)))), []string{"p1 until p2"}},
		{of(is(ltl.Eventually, p(0)), ltl.And, of(of(p(0), ltl.StrongRelease, p(1)), ltl.And, of(p(0), ltl.WeakUntil, p(1)))),
			[]string{"eventually p0", "p0 strong_release p1"}},
		{of(is(ltl.Always, p(0)), ltl.Iff, is(ltl.Always, p(1))), []string{"always p0", "!(always p0)", "always p1", "!(always p1)"}},
	} {
		_, _, err := FromLTL(c.formula, Options{})
		var not *NotSafetyError
		if c.guilty == nil {
			if err != nil {
				t.Errorf("%v: %v", c.formula, err)
			}
			continue
		}
		if !errors.As(err, &not) {
			t.Errorf("%v: %v", c.formula, err)
			continue
		}
		_, unreported, err := FromLTL(c.formula, Options{Partial: true})
		if err != nil {
			t.Errorf("%v: %v", c.formula, err)
		}
		var names []string
		for _, e := range unreported {
			names = append(names, e.String())
		}
		for _, name := range names {
			if !slices.Contains(c.guilty, name) {
				t.Errorf("%v: %v are never reported, want some of %v", c.formula, names, c.guilty)
			}
		}
		if len(names) == 0 || names[0] != not.String() {
			t.Errorf("%v: never reported %v, refused for %v", c.formula, names, not)
		}
	}
}

// TestBadBeforeTheContradictionIsMet: a prefix is bad as soon as no continuation satisfies the
// formula, even if only later letters make a part of the formula false.
func TestBadBeforeTheContradictionIsMet(t *testing.T) {
	for _, f := range []*ltl.Formula{
		of(is(ltl.Always, of(p(0), ltl.Implies, is(ltl.Next, is(ltl.Next, p(1))))), ltl.And, is(ltl.Always, is(ltl.Not, p(1)))),
		is(ltl.Always, of(p(0), ltl.Implies, is(ltl.Next, is(ltl.Not, is(ltl.Yesterday, p(0)))))),
		is(ltl.Always, of(p(0), ltl.Implies, of(is(ltl.Eventually, p(1)), ltl.And, is(ltl.Always, is(ltl.Not, p(1)))))),
	} {
		m := mustLTL(t, f)
		if m.Bad(m.next(0, 0)) || !m.Bad(m.next(0, 1)) {
			t.Errorf("%v: is bad after { } %v, after { p0 } %v", f, m.Bad(m.next(0, 0)), m.Bad(m.next(0, 1)))
		}
	}
}

func TestFutureUnderPastIsRefused(t *testing.T) {
	future := is(ltl.Next, p(0))
	past := is(ltl.Once, of(p(1), ltl.And, future))
	_, _, err := FromLTL(is(ltl.Always, of(p(0), ltl.Or, past)), Options{})
	var under *FutureUnderPastError
	if !errors.As(err, &under) || under.Future != future || under.Past != past {
		t.Errorf("%v", err)
	}
}

func TestFromLTLNamesWhatGrows(t *testing.T) {
	// The value of p0 twelve steps ago needs 2¹² states.
	deep := p(0)
	for range 12 {
		deep = is(ltl.Yesterday, deep)
	}
	ahead := p(2)
	for range 12 {
		ahead = is(ltl.Next, ahead)
	}
	for name, f := range map[string]*ltl.Formula{
		"past":   of(is(ltl.Always, of(p(1), ltl.Implies, deep)), ltl.And, is(ltl.Always, of(p(1), ltl.Implies, is(ltl.Once, p(2))))),
		"future": is(ltl.Always, of(p(1), ltl.Iff, ahead)),
	} {
		_, _, err := FromLTL(f, Options{Limit: 1000})
		var size *SizeError
		if !errors.As(err, &size) || size.Limit != 1000 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		part, ok := size.Part.(*ltl.Formula)
		if !ok || part.Op == ltl.Once {
			t.Errorf("%s: blamed %v", name, size.Part)
		}
		if _, _, err := FromLTL(f, Options{Limit: 50_000}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFromLTLNamesAnOperatorOfMany: if one letter leads to too many states at once, the error
// names one of the operators, not the whole formula.
func TestFromLTLNamesAnOperatorOfMany(t *testing.T) {
	f := p(0)
	for i := range ltl.Atoms {
		f = of(f, ltl.And, is(ltl.Once, p(i)))
	}
	_, _, err := FromLTL(is(ltl.Always, of(f, ltl.Or, p(0))), Options{Limit: 1000})
	var size *SizeError
	if !errors.As(err, &size) {
		t.Fatal(err)
	}
	if part, ok := size.Part.(*ltl.Formula); !ok || part.Op != ltl.Once {
		t.Errorf("blamed %v", size.Part)
	}
}

func TestLargeFormulasEnd(t *testing.T) {
	wide := ltl.Constant(true)
	for i := range ltl.Atoms {
		wide = of(wide, ltl.And, is(ltl.Always, of(is(ltl.Once, p(i)), ltl.Xor, is(ltl.Next, of(p(i), ltl.Until, p(ltl.Atoms-1-i))))))
	}
	_, _, err := FromLTL(wide, Options{Limit: 1000, Partial: true})
	var size *SizeError
	if !errors.As(err, &size) || size.Part == nil {
		t.Errorf("%v", err)
	}
	deep := p(0)
	for range 20_000 {
		deep = is(ltl.Not, deep)
	}
	if m, _, err := FromLTL(is(ltl.Always, deep), Options{}); err != nil || m.States() != 2 {
		t.Errorf("%v", err)
	}
}

func TestCheckIsAskedFirst(t *testing.T) {
	if _, _, err := FromLTL(ltl.Proposition(64), Options{}); err == nil {
		t.Error("proposition 64 is taken")
	}
}

// canBeViolated reports whether some word is bad.
func canBeViolated(d *Deterministic) bool { return d.bad != noState }

func TestWhatCanBeViolated(t *testing.T) {
	for _, c := range []struct {
		formula              *ltl.Formula
		ever, atOnce, before bool
	}{
		{is(ltl.Always, p(0)), true, false, false},
		{of(p(0), ltl.Or, is(ltl.Not, p(0))), false, false, false},
		{is(ltl.Yesterday, p(0)), true, true, true},
		{is(ltl.Start, p(0)), true, true, true},
		{is(ltl.Eventually, p(0)), false, false, false},
		{is(ltl.Always, of(p(0), ltl.And, is(ltl.Next, is(ltl.Not, p(0))))), true, true, true},
	} {
		m, _, err := FromLTL(c.formula, Options{Partial: true})
		if err != nil {
			t.Errorf("%v: %v", c.formula, err)
			continue
		}
		if canBeViolated(m) != c.ever || m.ViolatedAtOnce() != c.atOnce || m.Bad(0) != c.before {
			t.Errorf("%v: violated ever %v, at once %v, before any letter %v", c.formula, canBeViolated(m), m.ViolatedAtOnce(), m.Bad(0))
		}
	}
	// Expressions can be bad by every first letter, but not before it.
	m, err := FromERE(ere.One(ere.Cube{}), BadWords, Options{})
	if err != nil || !m.ViolatedAtOnce() || m.Bad(0) {
		t.Errorf("any letter: %v", err)
	}
}
