package ir

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

// failer is a test, or a case of a property.
type failer interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// compiled compiles an expression that has no errors.
func compiled(t failer, x *Expr) *Code {
	c, err := Compile(x)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// same reports whether two results are equal. All that is no number is equal, whatever its bits.
func same(t Type, a, b uint64) bool {
	return a == b || t == Float && math.IsNaN(math.Float64frombits(a)) && math.IsNaN(math.Float64frombits(b))
}

// agree checks that code computes what the naive evaluation of its expression does.
func agree(t failer, x *tree, c *Code, in []uint64) {
	want, wantOK := x.value(in)
	got, ok := c.Eval(in)
	if ok != wantOK || ok && !same(x.typ, got, bitsOf(want)) || !ok && got != 0 {
		t.Fatalf("%s\nof %#x: %#x, %v, want %v, %v\n%s", x, in, got, ok, want, wantOK, c)
	}
}

// evaluates is the property that Go's back end computes what the naive evaluation does.
func evaluates(t *rapid.T) {
	const inputs = 4
	g := grower{t, inputs, true}
	x := g.tree(rapid.SampledFrom(g.types()).Draw(t, "type"), rapid.IntRange(1, 7).Draw(t, "depth"))
	c := compiled(t, x.expr())
	if c.typ != x.typ || c.Inputs() > inputs {
		t.Fatalf("%s is %s of %d inputs", x, c.typ, c.Inputs())
	}
	for range 10 {
		agree(t, x, c, rapid.SliceOfN(rapid.Custom(anyBits), inputs, inputs).Draw(t, "inputs"))
	}
}

func TestEval(t *testing.T) { rapid.Check(t, evaluates) }

// FuzzEval tries expressions and values that bytes determine.
func FuzzEval(f *testing.F) { f.Fuzz(rapid.MakeFuzz(evaluates)) }

// TestEdges: operations on all pairs of the values around which they differ.
func TestEdges(t *testing.T) {
	for _, x := range pairwise() {
		c := compiled(t, x.expr())
		for _, a := range edges {
			for _, b := range edges {
				agree(t, x, c, []uint64{a, b})
			}
		}
	}
}

// pairwise returns, for each operator and types of integers, its expression of two inputs.
func pairwise() []*tree {
	var out []*tree
	for op := range operators {
		for _, a := range []Type{Int, Uint} {
			for _, b := range []Type{Int, Uint} {
				x := &tree{op: op, typ: a, kids: []*tree{whole(0, a), whole(1, b)}}
				if strings.ContainsAny(op, "=") || op == "<" || op == ">" {
					x.typ = Bool
				}
				if x.expr().Type() != Invalid {
					out = append(out, x)
				}
			}
		}
	}
	return out
}

func whole(at int, t Type) *tree {
	return &tree{op: "input", typ: t, at: at, form: Form{Type: t, Bits: 64, Sign: t == Int}}
}

// TestDefined has what C or the machine leaves open.
func TestDefined(t *testing.T) {
	least := Const(Int, 1<<63)
	minus := Const(Int, math.MaxUint64)
	for _, c := range []struct {
		name string
		x    *Expr
		want uint64
		ok   bool
	}{
		{"the least number by -1", Div(least, minus), 1 << 63, true},
		{"its remainder", Mod(least, minus), 0, true},
		{"a quotient towards zero", Div(Const(Int, ^uint64(6)), Const(Int, 2)), ^uint64(2), true},
		{"a remainder with the dividend's sign", Mod(Const(Int, ^uint64(6)), Const(Int, 2)), math.MaxUint64, true},
		{"a division by zero", Div(minus, Const(Int, 0)), 0, false},
		{"a remainder by zero", Mod(Const(Uint, 1), Const(Uint, 0)), 0, false},
		{"a float by zero", Div(Real(1), Real(0)), 0, false},
		{"a division that is not needed", And(Truth(false), Eq(Div(minus, Const(Int, 0)), minus)), 0, true},
		{"a shift by the width", ShiftLeft(Const(Uint, 1), Const(Int, 64)), 0, true},
		{"a shift by less than nothing", ShiftRight(Const(Uint, 1), minus), 0, true},
		{"a shift right of a negative number", ShiftRight(least, Const(Int, 100)), math.MaxUint64, true},
		{"-1 and 2⁶⁴-1", Lt(minus, Const(Uint, math.MaxUint64)), 1, true},
		{"2⁶⁴-1 and -1", Eq(Const(Uint, math.MaxUint64), minus), 0, true},
	} {
		if got, ok := compiled(t, c.x).Eval(nil); got != c.want || ok != c.ok {
			t.Errorf("%s: %#x, %v, want %#x, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestOperandsThatDoNotFit(t *testing.T) {
	n, u, f, b := Const(Int, 1), Const(Uint, 1), Real(1), Truth(true)
	for _, x := range []*Expr{
		Add(n, u), Add(b, b), Mod(f, f), Div(n, f), BitAnd(b, n), ShiftLeft(f, n), ShiftLeft(n, b), ShiftRight(b, n),
		Negate(u), Negate(b), Complement(f), Not(n), And(n, b), Or(b, f), Implies(n, b), Xor(u, b), Iff(b, n),
		Lt(b, b), Eq(b, n), Eq(f, n), Lt(u, f), Convert(f, Int), Convert(f, Bool), Convert(n, Bool), Convert(b, Float), Convert(n, Invalid),
		Const(Invalid, 0), Const(Bool, 2), Input(-1, Form{Type: Int}), Input(MaxInput+1, Form{Type: Int}), Input(0, Form{}), Input(0, Form{Type: 9}),
		Add(n, Add(n, u)), Not(Lt(Add(n, u), n)), Convert(Add(n, u), Float), ShiftLeft(n, Add(n, u)), And(b, Not(n)),
	} {
		if c, err := Compile(x); err == nil || x.Type() != Invalid {
			t.Errorf("it is accepted:\n%s", c)
		}
	}
}

// TestSize: an expression of any size, whose parts may be shared, is compiled in time or refused.
func TestSize(t *testing.T) {
	x := Gt(Input(0, Form{Type: Int, Bits: 64}), Const(Int, 1))
	for range 200 {
		x = Xor(x, x)
	}
	var size SizeError
	if _, err := Compile(x); !errors.As(err, &size) || !strings.Contains(size.Error(), "32768") {
		t.Error(err)
	}
	x = Input(0, Form{Type: Uint, Bits: 64})
	for range 13 {
		x = Sub(x, x)
	}
	if c := compiled(t, x); c.registers != 14 {
		t.Errorf("%d registers", c.registers)
	}
	x = Const(Int, 1)
	for range MaxInstructions - 1 {
		x = Negate(x)
	}
	if got, ok := compiled(t, x).Eval(nil); got != math.MaxUint64 || !ok {
		t.Error(got, ok)
	}
	if _, err := Compile(Negate(x)); !errors.As(err, &size) {
		t.Error(err)
	}
}

func TestCode(t *testing.T) {
	in := func(at int) *Expr { return Input(at, Form{Type: Int, Bits: 32, Sign: true}) }
	x := And(And(Lt(Const(Int, 26), in(0)), Input(2, Form{Type: Bool, Bits: 8})), Eq(Mul(in(0), Sub(Negate(in(1)), Div(in(0), in(1)))), Convert(Input(1, Form{Type: Uint, Bits: 64}), Int)))
	want := `0: r0 = load.i in0:32
1: r0 = gt.i r0, 0x1a
2: jz r0, 15
3: r0 = load.bool in2:8
4: jz r0, 15
5: r0 = load.i in0:32
6: r1 = load.i in1:32
7: r0 = div.i r0, r1
8: r1 = load.i in1:32
9: r1 = neg r1
10: r0 = sub r1, r0
11: r1 = load.i in0:32
12: r0 = mul r1, r0
13: r1 = load in1
14: r0 = eq r0, r1
`
	if got := compiled(t, x).String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		form       Form
		bits, want uint64
	}{
		{Form{Int, 8, true}, 0x1ff, math.MaxUint64},
		{Form{Int, 8, false}, 0x1ff, 0xff},
		{Form{Bool, 8, false}, 0x100, 0},
		{Form{Bool, 8, false}, 0x1fe, 1},
		{Form{Float, 32, false}, uint64(math.Float32bits(0.5)) | 1<<40, math.Float64bits(0.5)},
		{Form{Int, 64, true}, 1 << 63, 1 << 63},
	} {
		if got := c.form.Read(c.bits); got != c.want {
			t.Errorf("%+v of %#x: %#x, want %#x", c.form, c.bits, got, c.want)
		}
	}
}

func TestEvalAllocatesNothing(t *testing.T) {
	a, b := Input(0, Form{Type: Float, Bits: 32}), Input(1, Form{Type: Int, Bits: 16, Sign: true})
	c := compiled(t, Or(Lt(Mul(a, a), Convert(b, Float)), Eq(Mod(b, Const(Int, 7)), Div(Input(2, Form{Type: Int}), b))))
	in := []uint64{1, 2, 3}
	if n := testing.AllocsPerRun(100, func() { c.Eval(in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEval(b *testing.B) {
	w, v := Input(0, Form{Type: Int, Bits: 32, Sign: true}), Input(1, Form{Type: Int, Bits: 32, Sign: true})
	c := compiled(b, Or(Gt(w, Const(Int, 26)), Eq(Add(w, v), Const(Int, 3))))
	in := []uint64{20, 60}
	for b.Loop() {
		c.Eval(in)
	}
}
