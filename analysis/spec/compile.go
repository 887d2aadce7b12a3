package spec

import (
	"math"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
)

// eval computes an expression over values, which it reads by their index. It returns false at a
// division by zero. It retains and allocates nothing, so that any number of goroutines may share
// it.
type eval func(values []uint64) (uint64, bool)

// node is a compiled expression with its type. A Bool is 0 or 1. Before the program is known,
// types may be Unknown, and then the expression is checked but not run.
type node struct {
	class     Class
	run       eval
	zeroOrOne bool // the literal 0 or 1, with which a bool may be compared
	null      bool // the literal null
}

// environment resolves the names of an expression.
type environment interface {
	// lookup returns the index of the value that a name stands for, and how it is read; false
	// if the name stands for no value.
	lookup(n syntax.Name) (at int, v value, ok bool)
	// proposition returns the expression of a declared proposition.
	proposition(n syntax.Name) (x syntax.Expr, ok bool)
	// constant returns the value of a constant of an enumeration, which is compared with the
	// expression with.
	constant(n syntax.Name, with syntax.Expr) (v uint64, ok bool)
	// missing reports the error that a name has no meaning here.
	missing(n syntax.Name)
	// mismatch reports a type error.
	mismatch(at syntax.Span, format string, args ...any)
}

// compiler compiles expressions and reports their type errors.
type compiler struct {
	environment
	depth int // number of propositions whose expressions contain the present one
}

// maxInlined bounds how deep propositions mention one another.
const maxInlined = 64

// bad is the node of an expression with an error.
var bad = node{class: Unknown, run: func([]uint64) (uint64, bool) { return 0, false }}

// constant returns the node of a constant value.
func constant(class Class, v uint64) node {
	return node{class: class, run: func([]uint64) (uint64, bool) { return v, true }}
}

// truth compiles an expression that must be true or false.
func (c *compiler) truth(x syntax.Expr) node {
	n := c.compile(x)
	switch n.class {
	case Bool:
		return n
	case Unknown:
		run := n.run
		return node{class: Bool, run: func(in []uint64) (uint64, bool) {
			v, ok := run(in)
			return one(v != 0), ok
		}}
	}
	c.mismatch(x.Where(), "%q is %s, where something true or false is wanted: compare it", syntax.SourceText(x), aClass(n.class))
	return bad
}

// aClass returns a type for messages.
func aClass(c Class) string {
	switch c {
	case Int, Uint, Float:
		return "a number"
	case Enum:
		return "an enumeration"
	case Ptr:
		return "a pointer"
	case Bool:
		return "true or false"
	}
	return "of unknown type"
}

// one returns a truth value as a number.
func one(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// compile compiles an arranged expression.
func (c *compiler) compile(x syntax.Expr) node {
	switch x := x.(type) {
	case *syntax.Paren:
		return c.compile(x.X)
	case *syntax.Number:
		if x.Float {
			return constant(Float, math.Float64bits(x.Real))
		}
		class := Int
		if x.Int > math.MaxInt64 {
			class = Uint
		}
		n := constant(class, x.Int)
		n.zeroOrOne = x.Int <= 1
		return n
	case *syntax.Bool:
		return constant(Bool, one(x.Value))
	case *syntax.Null:
		n := constant(Ptr, 0)
		n.null = true
		return n
	case *syntax.Ident:
		return c.ident(x)
	case *syntax.Unary:
		return c.unary(x)
	case *syntax.Binary:
		return c.binary(x)
	}
	c.mismatch(x.Where(), "%q looks at other states or threads, which an expression over the state cannot", syntax.SourceText(x))
	return bad
}

func (c *compiler) ident(x *syntax.Ident) node {
	if at, v, ok := c.lookup(x.Name); ok {
		return node{class: v.class, run: v.load(at)}
	}
	if p, ok := c.proposition(x.Name); ok {
		if c.depth++; c.depth > maxInlined {
			c.mismatch(x.Name.Span, "propositions name one another more than %d deep", maxInlined)
			return bad
		}
		defer func() { c.depth-- }()
		return c.truth(p)
	}
	c.missing(x.Name)
	return bad
}

func (c *compiler) unary(x *syntax.Unary) node {
	switch x.Op {
	case syntax.LogicalNot:
		run := c.truth(x.X).run
		return node{class: Bool, run: func(in []uint64) (uint64, bool) {
			v, ok := run(in)
			return v ^ 1, ok
		}}
	case syntax.Negate, syntax.Complement:
		return c.sign(x)
	}
	c.mismatch(x.Span, "%s looks at other states, which an expression over the state cannot", x.Op)
	return bad
}

// sign compiles - and ~ before an operand.
func (c *compiler) sign(x *syntax.Unary) node {
	n := c.number(x.X, x.Op)
	run := n.run
	switch {
	case x.Op == syntax.Negate && n.class == Float:
		return node{class: Float, run: func(in []uint64) (uint64, bool) {
			v, ok := run(in)
			return v ^ 1<<63, ok
		}}
	case x.Op == syntax.Negate:
		return node{class: Int, run: func(in []uint64) (uint64, bool) {
			v, ok := run(in)
			return -v, ok
		}}
	case n.class == Float:
		c.mismatch(x.X.Where(), "%s takes whole numbers: %q is a float", x.Op, syntax.SourceText(x.X))
	}
	return node{class: n.class, run: func(in []uint64) (uint64, bool) {
		v, ok := run(in)
		return ^v, ok
	}}
}

// number compiles an operand that must be a number.
func (c *compiler) number(x syntax.Expr, op syntax.Operator) node {
	n := c.compile(x)
	if n.class == Bool {
		c.mismatch(x.Where(), "%s takes numbers: %q is true or false", op, syntax.SourceText(x))
	}
	return n
}

func (c *compiler) binary(x *syntax.Binary) node {
	switch {
	case x.Op == syntax.LogicalAnd || x.Op == syntax.Or || x.Op == syntax.Implies:
		return c.lazy(x)
	case x.Op == syntax.Xor || x.Op == syntax.Iff:
		return c.parity(x)
	case x.Op.IsComparison():
		return c.comparison(x)
	case x.Op.IsArithmetic():
		return c.arithmetic(x)
	}
	c.mismatch(x.Span, "%s looks at other states, which an expression over the state cannot", x.Op)
	return bad
}

// lazy compiles &&, || and ->. As in C, the second operand is not computed if the first decides
// the result.
func (c *compiler) lazy(x *syntax.Binary) node {
	left, right := c.truth(x.X).run, c.truth(x.Y).run
	decides, result := uint64(0), uint64(0)
	if x.Op == syntax.Or {
		decides, result = 1, 1
	} else if x.Op == syntax.Implies {
		decides, result = 0, 1
	}
	return node{class: Bool, run: func(in []uint64) (uint64, bool) {
		v, ok := left(in)
		if !ok || v == decides {
			return result, ok
		}
		return right(in)
	}}
}

// parity compiles xor and <->.
func (c *compiler) parity(x *syntax.Binary) node {
	left, right := c.truth(x.X).run, c.truth(x.Y).run
	flip := one(x.Op == syntax.Iff)
	return node{class: Bool, run: func(in []uint64) (uint64, bool) {
		a, ok := left(in)
		if !ok {
			return 0, false
		}
		b, ok := right(in)
		return a ^ b ^ flip, ok
	}}
}

func (c *compiler) comparison(x *syntax.Binary) node {
	left, right := c.side(x.X, x.Y), c.side(x.Y, x.X)
	c.comparable(x, left, right)
	class := common(left, right)
	test := compare(x.Op, left.class, right.class)
	if class == Float {
		left, right = asFloat(left), asFloat(right)
		test = compareFloats(x.Op)
	}
	a, b := left.run, right.run
	return node{class: Bool, run: func(in []uint64) (uint64, bool) {
		v, ok := a(in)
		if !ok {
			return 0, false
		}
		w, ok := b(in)
		return one(test(v, w)), ok
	}}
}

// side compiles one side of a comparison. A name that is not declared may be a constant of the
// other side's enumeration.
func (c *compiler) side(x, other syntax.Expr) node {
	id, ok := unparen(x).(*syntax.Ident)
	if !ok {
		return c.compile(x)
	}
	if _, _, known := c.lookup(id.Name); !known {
		if _, prop := c.proposition(id.Name); !prop {
			if v, ok := c.constant(id.Name, unparen(other)); ok {
				return constant(Enum, v)
			}
		}
	}
	return c.compile(x)
}

func unparen(x syntax.Expr) syntax.Expr {
	for {
		p, ok := x.(*syntax.Paren)
		if !ok {
			return x
		}
		x = p.X
	}
}

// comparable reports an error for values that cannot be compared.
func (c *compiler) comparable(x *syntax.Binary, left, right node) {
	for _, s := range [][2]node{{left, right}, {right, left}} {
		a, b := s[0], s[1]
		if a.class == Unknown || b.class == Unknown {
			return
		}
		equality := x.Op == syntax.Equal || x.Op == syntax.NotEqual
		switch {
		case a.class == Bool && (b.class != Bool && !b.zeroOrOne || !equality):
			c.mismatch(x.Where(), "%q compares something true or false with %s", syntax.SourceText(x), aClass(b.class))
			return
		case a.null && b.class != Ptr:
			c.mismatch(x.Where(), "%q compares null with %s", syntax.SourceText(x), aClass(b.class))
			return
		case a.class == Ptr && b.class == Float:
			c.mismatch(x.Where(), "%q compares a pointer with a float", syntax.SourceText(x))
			return
		}
	}
}

// common returns the type in which an operator computes with two values.
func common(a, b node) Class {
	switch {
	case a.class == Float || b.class == Float:
		return Float
	case a.class == Uint || b.class == Uint || a.class == Ptr || b.class == Ptr:
		return Uint
	}
	return Int
}

func asFloat(n node) node {
	run := n.run
	switch {
	case n.class == Float:
		return n
	case n.class.signed():
		return node{class: Float, run: func(in []uint64) (uint64, bool) {
			v, ok := run(in)
			return math.Float64bits(float64(int64(v))), ok
		}}
	}
	return node{class: Float, run: func(in []uint64) (uint64, bool) {
		v, ok := run(in)
		return math.Float64bits(float64(v)), ok
	}}
}

// compare returns a function that compares whole numbers by value, even if only one of their
// types has a sign.
func compare(op syntax.Operator, left, right Class) func(a, b uint64) bool {
	switch op {
	case syntax.Equal:
		return func(a, b uint64) bool { return order(a, left, b, right) == 0 }
	case syntax.NotEqual:
		return func(a, b uint64) bool { return order(a, left, b, right) != 0 }
	}
	if left.signed() && right.signed() {
		switch op {
		case syntax.Less:
			return func(a, b uint64) bool { return int64(a) < int64(b) }
		case syntax.LessEqual:
			return func(a, b uint64) bool { return int64(a) <= int64(b) }
		case syntax.Greater:
			return func(a, b uint64) bool { return int64(a) > int64(b) }
		}
		return func(a, b uint64) bool { return int64(a) >= int64(b) }
	}
	switch op {
	case syntax.Less:
		return func(a, b uint64) bool { return order(a, left, b, right) < 0 }
	case syntax.LessEqual:
		return func(a, b uint64) bool { return order(a, left, b, right) <= 0 }
	case syntax.Greater:
		return func(a, b uint64) bool { return order(a, left, b, right) > 0 }
	}
	return func(a, b uint64) bool { return order(a, left, b, right) >= 0 }
}

// order compares two whole numbers by value, and returns -1, 0 or 1.
func order(a uint64, left Class, b uint64, right Class) int {
	negA, negB := left.signed() && int64(a) < 0, right.signed() && int64(b) < 0
	switch {
	case negA && !negB:
		return -1
	case negB && !negA:
		return 1
	case a < b:
		return -1 // Numbers of the same sign are in the order of their bits.
	case a > b:
		return 1
	}
	return 0
}

func compareFloats(op syntax.Operator) func(a, b uint64) bool {
	f := math.Float64frombits
	switch op {
	case syntax.Equal:
		return func(a, b uint64) bool { return f(a) == f(b) }
	case syntax.NotEqual:
		return func(a, b uint64) bool { return f(a) != f(b) }
	case syntax.Less:
		return func(a, b uint64) bool { return f(a) < f(b) }
	case syntax.LessEqual:
		return func(a, b uint64) bool { return f(a) <= f(b) }
	case syntax.Greater:
		return func(a, b uint64) bool { return f(a) > f(b) }
	}
	return func(a, b uint64) bool { return f(a) >= f(b) }
}

func (c *compiler) arithmetic(x *syntax.Binary) node {
	left, right := c.number(x.X, x.Op), c.number(x.Y, x.Op)
	class := common(left, right)
	var op func(a, b uint64) (uint64, bool)
	if class == Float {
		if op = floatOp(x.Op); op == nil {
			c.mismatch(x.Where(), "%s takes whole numbers: %q has a float", x.Op, syntax.SourceText(x))
			return bad
		}
		left, right = asFloat(left), asFloat(right)
	} else {
		if x.Op == syntax.ShiftLeft || x.Op == syntax.ShiftRight {
			class = Int
			if !left.class.signed() {
				class = Uint
			}
		}
		op = wholeOp(x.Op, class == Int)
	}
	if left.class == Unknown || right.class == Unknown {
		class = Unknown
	}
	a, b := left.run, right.run
	return node{class: class, run: func(in []uint64) (uint64, bool) {
		v, ok := a(in)
		if !ok {
			return 0, false
		}
		w, ok := b(in)
		if !ok {
			return 0, false
		}
		return op(v, w)
	}}
}

// floatOp returns the function that computes an operator on floats; nil if it has none.
func floatOp(op syntax.Operator) func(a, b uint64) (uint64, bool) {
	f, bits := math.Float64frombits, math.Float64bits
	switch op {
	case syntax.Plus:
		return func(a, b uint64) (uint64, bool) { return bits(f(a) + f(b)), true }
	case syntax.Minus:
		return func(a, b uint64) (uint64, bool) { return bits(f(a) - f(b)), true }
	case syntax.Times:
		return func(a, b uint64) (uint64, bool) { return bits(f(a) * f(b)), true }
	case syntax.Divide:
		return func(a, b uint64) (uint64, bool) { return bits(f(a) / f(b)), f(b) != 0 }
	}
	return nil
}

// wholeOp returns the function that computes an operator on integers, with or without a sign.
func wholeOp(op syntax.Operator, signed bool) func(a, b uint64) (uint64, bool) {
	switch op {
	case syntax.Plus:
		return func(a, b uint64) (uint64, bool) { return a + b, true }
	case syntax.Minus:
		return func(a, b uint64) (uint64, bool) { return a - b, true }
	case syntax.Times:
		return func(a, b uint64) (uint64, bool) { return a * b, true }
	case syntax.BitOr:
		return func(a, b uint64) (uint64, bool) { return a | b, true }
	case syntax.BitXor:
		return func(a, b uint64) (uint64, bool) { return a ^ b, true }
	case syntax.BitAnd:
		return func(a, b uint64) (uint64, bool) { return a & b, true }
	case syntax.ShiftLeft:
		return func(a, b uint64) (uint64, bool) { return a << b, true }
	}
	if signed {
		return signedOp(op)
	}
	switch op {
	case syntax.Divide:
		return func(a, b uint64) (uint64, bool) {
			if b == 0 {
				return 0, false
			}
			return a / b, true
		}
	case syntax.Modulo:
		return func(a, b uint64) (uint64, bool) {
			if b == 0 {
				return 0, false
			}
			return a % b, true
		}
	}
	return func(a, b uint64) (uint64, bool) { return a >> b, true }
}

// signedOp returns the function that computes /, % or >> on integers with a sign.
func signedOp(op syntax.Operator) func(a, b uint64) (uint64, bool) {
	switch op {
	case syntax.Divide:
		return func(a, b uint64) (uint64, bool) {
			if b == 0 {
				return 0, false
			}
			return uint64(int64(a) / int64(b)), true
		}
	case syntax.Modulo:
		return func(a, b uint64) (uint64, bool) {
			if b == 0 {
				return 0, false
			}
			return uint64(int64(a) % int64(b)), true
		}
	}
	return func(a, b uint64) (uint64, bool) { return uint64(int64(a) >> b), true }
}

// enumConstant returns the value of an enumeration's constant, by its name. Either the name or
// that in the debug information may have scopes that the other has not.
func enumConstant(f *event.Form, name string) (uint64, bool) {
	last := name[strings.LastIndexByte(name, ':')+1:]
	for _, n := range f.Names {
		if n.Text == name || n.Text == last || strings.HasSuffix(n.Text, "::"+name) {
			shift := 64 - min(max(uint(f.Bits), 1), 64)
			if f.Class == event.FormSigned {
				return uint64(int64(n.Value<<shift) >> shift), true
			}
			return n.Value << shift >> shift, true
		}
	}
	return 0, false
}

func enumNames(f *event.Form) []string {
	var out []string
	for _, n := range f.Names {
		out = append(out, n.Text)
	}
	return out
}
