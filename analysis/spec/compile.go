package spec

import (
	"math"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
	"github.com/tracepredict/tracepredict/observer/event"
)

// node is an expression with its type. Before the program is known, types may be Unknown; the
// expression then computes with an integer that has a sign.
type node struct {
	class     Class
	x         *ir.Expr
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
	// tooLarge reports that a bound is exceeded.
	tooLarge(at syntax.Span, format string, args ...any)
}

// elsewhere is an environment of expressions that also look at other states or threads.
type elsewhere interface {
	environment
	// other compiles an operation that expressions over one state do not have; it returns false
	// if the environment does not have it either.
	other(c *compiler, x syntax.Expr) (n node, ok bool)
}

// compiler makes typed expressions, and reports their type errors.
type compiler struct {
	environment
	depth int                  // number of propositions whose expressions contain the present one
	props map[syntax.Expr]node // the propositions that were compiled already
}

func newCompiler(e environment) *compiler {
	return &compiler{environment: e, props: map[syntax.Expr]node{}}
}

// maxInlined bounds how deep propositions mention one another.
const maxInlined = 64

// bad is the node of an expression with an error.
var bad = node{class: Unknown, x: ir.Const(ir.Int, 0)}

// constant returns the node of a constant value.
func constant(class Class, v uint64) node {
	return node{class: class, x: ir.Const(class.computed(), v)}
}

// as returns the expression of a node as a type. A value that cannot have the type, of which an
// error was reported, becomes 0.
func (n node) as(t ir.Type) *ir.Expr {
	if x := ir.Convert(n.x, t); x.Type() == t {
		return x
	}
	return ir.Const(t, 0)
}

// code returns the code of an arranged expression, which must be true or false if truth is set. It
// returns nil if that is too large, and after other errors the code of some other expression.
func (c *compiler) code(x syntax.Expr, truth bool) *ir.Code {
	compile := c.compile
	if truth {
		compile = c.truth
	}
	code, err := ir.Compile(compile(x).x)
	if err != nil {
		c.tooLarge(x.Where(), "%q: %v, with the propositions that it names", syntax.SourceText(x), err)
	}
	return code
}

// truth compiles an expression that must be true or false.
func (c *compiler) truth(x syntax.Expr) node {
	n := c.compile(x)
	switch n.class {
	case Bool:
		return n
	case Unknown:
		return node{class: Bool, x: ir.Ne(n.as(ir.Int), bad.x)}
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

// compile compiles an arranged expression.
func (c *compiler) compile(x syntax.Expr) node {
	switch x := x.(type) {
	case *syntax.Paren:
		return c.compile(x.X)
	case *syntax.Number:
		if x.Float {
			return node{class: Float, x: ir.Real(x.Real)}
		}
		class := Int
		if x.Int > math.MaxInt64 {
			class = Uint
		}
		n := constant(class, x.Int)
		n.zeroOrOne = x.Int <= 1
		return n
	case *syntax.Bool:
		return node{class: Bool, x: ir.Truth(x.Value)}
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
	return c.other(x)
}

// other compiles an operation that looks at other states or threads, if the environment has it.
func (c *compiler) other(x syntax.Expr) node {
	if e, ok := c.environment.(elsewhere); ok {
		if n, ok := e.other(c, x); ok {
			return n
		}
	}
	switch x := x.(type) {
	case *syntax.Unary:
		c.mismatch(x.Span, "%s looks at other states, which an expression over the state cannot", x.Op)
	case *syntax.Binary:
		c.mismatch(x.Span, "%s looks at other states, which an expression over the state cannot", x.Op)
	default:
		c.mismatch(x.Where(), "%q looks at other states or threads, which an expression over the state cannot", syntax.SourceText(x))
	}
	return bad
}

// temporal checks the operands of a temporal operation; it returns false for other operations.
// The result is checked and not run.
func (c *compiler) temporal(x syntax.Expr) (node, bool) {
	var operands []syntax.Expr
	switch x := x.(type) {
	case *syntax.Interval:
		operands = []syntax.Expr{x.F, x.G}
	case *syntax.Unary:
		operands = []syntax.Expr{x.X}
	case *syntax.Binary:
		operands = []syntax.Expr{x.X, x.Y}
	default:
		return node{}, false
	}
	for _, operand := range operands {
		c.truth(operand)
	}
	return node{class: Bool, x: ir.Truth(true)}, true
}

func (c *compiler) ident(x *syntax.Ident) node {
	if at, v, ok := c.lookup(x.Name); ok {
		return node{class: v.class, x: ir.Input(at, v.form())}
	}
	if p, ok := c.proposition(x.Name); ok {
		return c.inlined(p, x.Name)
	}
	c.missing(x.Name)
	return bad
}

// inlined compiles the expression of a proposition that a name stands for.
func (c *compiler) inlined(p syntax.Expr, name syntax.Name) node {
	if n, ok := c.props[p]; ok {
		return n
	}
	if c.depth++; c.depth > maxInlined {
		c.mismatch(name.Span, "propositions name one another more than %d deep", maxInlined)
		return bad
	}
	defer func() { c.depth-- }()
	n := c.truth(p)
	c.props[p] = n
	return n
}

func (c *compiler) unary(x *syntax.Unary) node {
	switch x.Op {
	case syntax.LogicalNot:
		return node{class: Bool, x: ir.Not(c.truth(x.X).as(ir.Bool))}
	case syntax.Negate, syntax.Complement:
		return c.sign(x)
	}
	return c.other(x)
}

// sign compiles - and ~ before an operand.
func (c *compiler) sign(x *syntax.Unary) node {
	n := c.number(x.X, x.Op)
	switch {
	case x.Op == syntax.Negate && n.class == Float:
		return node{class: Float, x: ir.Negate(n.as(ir.Float))}
	case x.Op == syntax.Negate:
		return node{class: Int, x: ir.Negate(n.as(ir.Int))}
	case n.class == Float:
		c.mismatch(x.X.Where(), "%s takes whole numbers: %q is a float", x.Op, syntax.SourceText(x.X))
		return node{class: Float, x: ir.Real(0)}
	}
	return node{class: n.class, x: ir.Complement(n.as(n.class.whole()))}
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
	case logical[x.Op] != nil:
		left := c.truth(x.X).as(ir.Bool)
		return node{class: Bool, x: logical[x.Op](left, c.truth(x.Y).as(ir.Bool))}
	case x.Op.IsComparison():
		return c.comparison(x)
	case x.Op.IsArithmetic():
		return c.arithmetic(x)
	}
	return c.other(x)
}

// logical has the operations of two truth values.
var logical = map[syntax.Operator]func(a, b *ir.Expr) *ir.Expr{
	syntax.LogicalAnd: ir.And, syntax.Or: ir.Or, syntax.Implies: ir.Implies, syntax.Xor: ir.Xor, syntax.Iff: ir.Iff,
}

// numeric has the operations of two numbers.
var numeric = map[syntax.Operator]func(a, b *ir.Expr) *ir.Expr{
	syntax.Plus: ir.Add, syntax.Minus: ir.Sub, syntax.Times: ir.Mul, syntax.Divide: ir.Div, syntax.Modulo: ir.Mod,
	syntax.BitOr: ir.BitOr, syntax.BitXor: ir.BitXor, syntax.BitAnd: ir.BitAnd, syntax.ShiftLeft: ir.ShiftLeft, syntax.ShiftRight: ir.ShiftRight,
	syntax.Equal: ir.Eq, syntax.NotEqual: ir.Ne, syntax.Less: ir.Lt, syntax.LessEqual: ir.Le, syntax.Greater: ir.Gt, syntax.GreaterEqual: ir.Ge,
}

// comparison compiles a comparison. It compares numbers by value, even if only one of their types
// has a sign.
func (c *compiler) comparison(x *syntax.Binary) node {
	left, right := c.side(x.X, x.Y), c.side(x.Y, x.X)
	c.comparable(x, left, right)
	a, b := left.class.whole(), right.class.whole()
	switch {
	case common(left, right) == Float:
		a, b = ir.Float, ir.Float
	case left.class == Bool && right.class == Bool && (x.Op == syntax.Equal || x.Op == syntax.NotEqual):
		a, b = ir.Bool, ir.Bool
	}
	return node{class: Bool, x: numeric[x.Op](left.as(a), right.as(b))}
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

func (c *compiler) arithmetic(x *syntax.Binary) node {
	left, right := c.number(x.X, x.Op), c.number(x.Y, x.Op)
	class := common(left, right)
	shift := x.Op == syntax.ShiftLeft || x.Op == syntax.ShiftRight
	switch {
	case class == Float:
		if !takesFloats(x.Op) {
			c.mismatch(x.Where(), "%s takes whole numbers: %q has a float", x.Op, syntax.SourceText(x))
			return bad
		}
	case shift && left.class.signed():
		class = Int
	case shift:
		class = Uint
	}
	a, b := class.computed(), class.computed()
	if shift {
		b = right.class.whole()
	}
	n := node{class: class, x: numeric[x.Op](left.as(a), right.as(b))}
	if class != Float && (left.class == Unknown || right.class == Unknown) {
		return node{class: Unknown, x: n.as(ir.Int)}
	}
	return n
}

// takesFloats reports whether an operator of arithmetic computes with floats.
func takesFloats(op syntax.Operator) bool {
	return op == syntax.Plus || op == syntax.Minus || op == syntax.Times || op == syntax.Divide
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
