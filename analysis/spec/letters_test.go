package spec

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// truthOf computes a proposition over the variables i, u (int and uint of 64 bits), b, f
// and p, without a program.
func truthOf(t *testing.T, text string, values []uint64) (holds, fault bool) {
	t.Helper()
	s := parse(t, "var i : int = i\nvar u : uint = u\nvar b : bool = b\nvar f : float = f\nvar p : ptr = p\nprop guarded = i != 0 && 1 / i == 1\nproperty x = always ("+text+")")
	l, problems := s.Letters(s.Properties[0], nil)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m, _ := s.Monitor(s.Properties[0], MonitorOptions{})
	state := m.Step(nil, m.Start(nil)[0], l.Letter(values, 0))
	return !m.Bad(state[0]), l.Faults() > 0
}

func TestExpressions(t *testing.T) {
	minus := func(v int64) uint64 { return uint64(-v) }
	values := []uint64{minus(3), 5, 1, math.Float64bits(2.5), 0x1000}
	for text, want := range map[string]bool{
		"i == -3":              true,
		"i < u":                true, // by value, unlike C's -3 < 5u
		"u > i":                true,
		"u - 6 > 0":            true, // 64 bits without sign
		"i * 2 + 1 == -5":      true,
		"i / 2 == -1":          true,
		"i % 2 == -1":          true,
		"i >> 1 == -2":         true,
		"u << 2 == 20":         true,
		"u & 4 == 4":           true,
		"u | 2 == 7":           true,
		"u ^ 1 == 4":           true,
		"~u & 0xff == 0xfa":    true,
		"-i == 3":              true,
		"u << 64 == 0":         true,
		"u << 100 == 0":        true,
		"b":                    true,
		"b == 1":               true,
		"b != true":            false,
		"b == (u == 5)":        true,
		"!b || i == -3":        true,
		"b ^ u == 5":           false,
		"f > 2":                true,
		"f * 2 == 5":           true,
		"f + i == -0.5":        true,
		"-f < 0":               true,
		"1 / 2 == 0":           true,
		"1.0 / 2 == 0.5":       true,
		"p == 0x1000":          true,
		"p != null":            true,
		"p & 0xfff == 0":       true,
		"i == 'a' || u == 5":   true,
		"u != 0 && 10 / u > 1": true,
		"(i > 0) -> b":         true,
		"u == 5 <-> i == -3":   true,
	} {
		if got, fault := truthOf(t, text, values); got != want || fault {
			t.Errorf("%s: %v, fault %v", text, got, fault)
		}
	}
}

func TestDivisionByZero(t *testing.T) {
	zero := []uint64{0, 0, 0, 0, 0}
	for text, wantFault := range map[string]bool{
		"1 / i == 0":           true,
		"1 % u == 0":           true,
		"1.5 / f > 0":          true,
		"i != 0 && 1 / i == 1": true,  // two propositions: both are computed
		"guarded":              false, // one proposition: as in C, its second operand is not computed
	} {
		if got, fault := truthOf(t, text, zero); got || fault != wantFault {
			t.Errorf("%s: %v, fault %v", text, got, fault)
		}
	}
	least := uint64(1) << 63
	if got, fault := truthOf(t, "i / -1 == i && i % -1 == 0", []uint64{least, 0, 0, 0, 0}); !got || fault {
		t.Errorf("the least number by -1: %v, fault %v", got, fault)
	}
}

// TestForms: the bits of values in events beyond the width of the program's type are ignored.
func TestForms(t *testing.T) {
	s := parse(t, "var i = i\nvar u = u\nvar e : enum = e\nvar f = f\nvar b = b\nproperty x = ere bad (a c g h k)\nprop a = i == -1\nprop c = u == 255\nprop g = e == ns::OPEN && e != SHUT\nprop h = f == 0.5\nprop k = b")
	forms := []*event.Form{
		{Class: event.FormSigned, Bits: 32}, {Class: event.FormUnsigned, Bits: 8},
		{Class: event.FormSigned, Bits: 32, Names: []event.Name{{Value: 3, Text: "SHUT"}, {Value: 0xffffffff, Text: "OPEN"}}},
		{Class: event.FormFloat, Bits: 32}, {Class: event.FormBool, Bits: 8},
	}
	l, problems := s.Letters(s.Properties[0], forms)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	if got := l.Letter([]uint64{0xffffffff, 255, 0xffffffff, uint64(math.Float32bits(0.5)), 1}, 0); got != 0b11111 {
		t.Errorf("%b", got)
	}
	if got := l.Letter([]uint64{1, 254, 3, 0, 0}, 0); got != 0 {
		t.Errorf("%b", got)
	}
}

func TestFormsThatDoNotFit(t *testing.T) {
	s := parse(t, "var i : int = i\nvar e = e\nproperty x = always (i > 1 && e == OPNE)")
	for _, c := range []struct {
		forms []*event.Form
		want  string
	}{
		{[]*event.Form{{Class: event.FormUnsigned, Bits: 32}, {Bits: 32, Names: []event.Name{{Value: 1, Text: "OPNE"}}}}, "declared int, and the program's i is an integer without sign"},
		{[]*event.Form{nil, {Bits: 32, Names: []event.Name{{Value: 1, Text: "OPEN"}}}}, `no constant "OPNE"; did you mean OPEN?`},
		{[]*event.Form{nil, {Bits: 32}}, "no constants of an enumeration are known"},
		{[]*event.Form{nil, nil}, "no constants of an enumeration are known"},
	} {
		_, problems := s.Letters(s.Properties[0], c.forms)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, c.want) {
			t.Errorf("%v, want %s", problems, c.want)
		}
	}
}

func TestLetterAllocatesNothing(t *testing.T) {
	s := parse(t, "var w : int = w\nvar v : int = v\nevent e = call f\nprop p = w * 2 > v / 3\nproperty x = always (p && e -> w + v != 3 || v == 2)")
	l, _ := s.Letters(s.Properties[0], nil)
	values := []uint64{3, 4}
	if n := testing.AllocsPerRun(100, func() { l.Letter(values, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLetter(b *testing.B) {
	s, _ := Parse("t.tps", "var w : int = w\nvar v : int = v\nprop p = w > 26\nprop q = w > 30\nprop r = v > 55\nproperty x = always (q -> ((r && p) since start(p)))")
	l, _ := s.Letters(s.Properties[0], []*event.Form{{Class: event.FormSigned, Bits: 32}, {Class: event.FormSigned, Bits: 32}})
	values := []uint64{27, 60}
	for b.Loop() {
		l.Letter(values, 0)
	}
}

func TestConditions(t *testing.T) {
	s := parse(t, "event e = return f(x, _, y) -> r when x + y == r && tid == 7 && n > 1\nlocal n : int = 1 + 1 { on e : n := n * x }\nlocal m = 0\nproperty p = always !e")
	c := s.Events[0].When
	if c.bound != 3 || !c.holds([]uint64{1, 2, 3, 7, 2, 0}) || c.holds([]uint64{1, 2, 4, 7, 2, 0}) || c.holds([]uint64{1, 2, 3, 7, 1, 0}) {
		t.Error("the condition does not hold where it should")
	}
	if s.Events[0].Result != 2 || s.Locals[0].Value != 2 {
		t.Errorf("%+v", s.Events[0])
	}
	if v, ok := s.Locals[0].On[0].Sets[0].Value.value([]uint64{5, 0, 0, 7, 3, 0}); v != 15 || !ok {
		t.Error(v)
	}
}

// TestConditionsInTheKernel: the code of a condition says whether the kernel can compute it.
func TestConditionsInTheKernel(t *testing.T) {
	s := parse(t, "event e = call f(x, y) when x / y > 2 && tid != 1\nevent g = call h(x) when x * 1.5 > 2\nproperty p = always !e && !g")
	if why := s.Events[0].When.code.UserOnly(); why != "" {
		t.Error(why)
	}
	if why := s.Events[1].When.code.UserOnly(); !strings.Contains(why, "floats") {
		t.Error(why)
	}
	if got := s.Events[0].When.code.Inputs(); got != s.Events[0].When.bound+1 {
		t.Errorf("%d inputs", got)
	}
	for x, want := range map[uint64]bool{1: false, 2: true, uint64(math.MaxUint64): false} {
		if got := s.Events[1].When.holds([]uint64{x, 1}); got != want {
			t.Errorf("1.5 times %d is greater than 2: %v", int64(x), got)
		}
	}
}

// TestPropositionsThatDouble: propositions that mention one another twice are a size limit, and take
// no time.
func TestPropositionsThatDouble(t *testing.T) {
	text := func(levels int) string {
		text := "var w : int = w\nprop p0 = w > 1\n"
		for i := range levels {
			text += fmt.Sprintf("prop p%d = p%d xor p%d\n", i+1, i, i)
		}
		return text + fmt.Sprintf("property x = always !p%d\n", levels)
	}
	s := parse(t, text(12))
	l, problems := s.Letters(s.Properties[0], nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if m, problems := s.Monitor(s.Properties[0], MonitorOptions{}); m == nil || len(problems) == 0 || l.Letter([]uint64{5}, 0) != 0 {
		t.Error("x xor x is not known to be false")
	}
	if _, problems := Parse("t.tps", text(60)); len(problems) > 5 || !strings.HasPrefix(problems.Error(), `t.tps:16:12: "p13 xor p13": the expression needs more than 32768 instructions`) {
		t.Error(problems)
	}
	if _, problems := Parse("t.tps", text(60)+"prop c0 = c1 || c1\nprop c1 = c0 && c0\n"); !strings.Contains(problems.Error(), `proposition "c0" is defined by itself`) {
		t.Error(problems)
	}
}

// TestWords reads sequences of values with the monitors of the valve example.
func TestWords(t *testing.T) {
	s, problems := Load("testdata/examples/valve.tps", Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	run := func(states [][2]uint64) (bad []bool) {
		for _, p := range s.Properties {
			m, _ := s.Monitor(p, MonitorOptions{})
			l, _ := s.Letters(p, nil)
			at := m.Start(nil)
			for _, v := range states {
				at = m.Step(nil, at[0], l.Letter([]uint64{v[0], v[1]}, 0))
			}
			bad = append(bad, m.Bad(at[0]))
		}
		return bad
	}
	for name, c := range map[string]struct {
		states [][2]uint64
		bad    bool
	}{
		"as observed":         {[][2]uint64{{20, 40}, {24, 40}, {24, 50}, {27, 50}, {27, 60}, {31, 60}, {31, 70}}, false},
		"opened too late":     {[][2]uint64{{20, 40}, {24, 40}, {24, 50}, {27, 50}, {31, 50}, {31, 60}, {31, 70}}, true},
		"closed in between":   {[][2]uint64{{20, 40}, {27, 60}, {27, 50}, {31, 60}}, true},
		"high from the start": {[][2]uint64{{40, 70}}, true},
	} {
		for i, bad := range run(c.states) {
			if bad != c.bad {
				t.Errorf("%s: property %d: %v", name, i, bad)
			}
		}
	}
}
