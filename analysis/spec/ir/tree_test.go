package ir

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"pgregory.net/rapid"
)

// tree is an expression that can be made an Expr, and that computes itself in a naive way of its
// own: with integers of any size, which it reduces to 64 bits after each operation.
type tree struct {
	op   string // "const", "input", "convert", "not", "neg", "~", or an operator of two operands
	typ  Type
	kids []*tree
	bits uint64 // of a constant
	at   int    // of an input
	form Form
}

func (x *tree) String() string {
	switch {
	case x.op == "const" && x.typ == Float:
		return fmt.Sprint(math.Float64frombits(x.bits))
	case x.op == "const":
		return fmt.Sprintf("%s(%#x)", x.typ, x.bits)
	case x.op == "input":
		return fmt.Sprintf("in%d%+v", x.at, x.form)
	case len(x.kids) == 1:
		return fmt.Sprintf("%s:%s(%s)", x.op, x.typ, x.kids[0])
	}
	return fmt.Sprintf("(%s %s %s)", x.kids[0], x.op, x.kids[1])
}

// operators has the constructor of each operator of two operands.
var operators = map[string]func(a, b *Expr) *Expr{
	"+": Add, "-": Sub, "*": Mul, "/": Div, "%": Mod, "&": BitAnd, "|": BitOr, "^": BitXor, "<<": ShiftLeft, ">>": ShiftRight,
	"==": Eq, "!=": Ne, "<": Lt, "<=": Le, ">": Gt, ">=": Ge,
	"&&": And, "||": Or, "->": Implies, "xor": Xor, "<->": Iff,
}

// expr makes the Expr.
func (x *tree) expr() *Expr {
	switch x.op {
	case "const":
		return Const(x.typ, x.bits)
	case "input":
		return Input(x.at, x.form)
	case "convert":
		return Convert(x.kids[0].expr(), x.typ)
	case "not":
		return Not(x.kids[0].expr())
	case "neg":
		return Negate(x.kids[0].expr())
	case "~":
		return Complement(x.kids[0].expr())
	}
	return operators[x.op](x.kids[0].expr(), x.kids[1].expr())
}

// number is a value of the naive evaluation: a *big.Int, a float64 or a bool.
type number any

// meaning returns the number that 64 bits are.
func meaning(t Type, bits uint64) number {
	switch t {
	case Bool:
		return bits == 1
	case Float:
		return math.Float64frombits(bits)
	case Int:
		return big.NewInt(int64(bits))
	}
	return new(big.Int).SetUint64(bits)
}

// bitsOf returns the 64 bits of a number.
func bitsOf(n number) uint64 {
	switch n := n.(type) {
	case bool:
		return one(n)
	case float64:
		return math.Float64bits(n)
	case *big.Int:
		return new(big.Int).Mod(n, new(big.Int).Lsh(big.NewInt(1), 64)).Uint64()
	}
	panic("no number")
}

// read returns the number that an input means.
func (x *tree) read(bits uint64) number {
	if x.form.Type == Float {
		if x.form.Bits == 32 {
			return float64(math.Float32frombits(uint32(bits)))
		}
		return math.Float64frombits(bits)
	}
	n := new(big.Int)
	for i := range int(x.form.Bits) {
		n.SetBit(n, i, uint(bits>>i&1))
	}
	if x.form.Type == Bool {
		return n.Sign() != 0
	}
	if x.form.Sign && n.Bit(int(x.form.Bits)-1) == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(x.form.Bits)))
	}
	return meaning(x.typ, bitsOf(n))
}

// value computes the expression; false if it has no value.
func (x *tree) value(in []uint64) (number, bool) {
	switch x.op {
	case "const":
		return meaning(x.typ, x.bits), true
	case "input":
		return x.read(in[x.at]), true
	}
	a, ok := x.kids[0].value(in)
	if !ok {
		return nil, false
	}
	if first, isTruth := a.(bool); isTruth {
		switch {
		case x.op == "not":
			return !first, true
		case x.op == "&&" && !first:
			return false, true
		case (x.op == "||") == first && (x.op == "||" || x.op == "->"):
			return true, true
		}
	}
	switch x.op {
	case "convert":
		return x.convert(a), true
	case "neg":
		if f, ok := a.(float64); ok {
			return math.Float64frombits(math.Float64bits(f) ^ 1<<63), true
		}
		return meaning(x.typ, bitsOf(new(big.Int).Neg(a.(*big.Int)))), true
	case "~":
		return meaning(x.typ, bitsOf(new(big.Int).Not(a.(*big.Int)))), true
	}
	b, ok := x.kids[1].value(in)
	if !ok {
		return nil, false
	}
	switch a := a.(type) {
	case bool:
		return truths(x.op, a, b.(bool)), true
	case float64:
		return x.reals(a, b.(float64))
	}
	return x.whole(a.(*big.Int), b.(*big.Int))
}

func (x *tree) convert(a number) number {
	switch a := a.(type) {
	case bool:
		return big.NewInt(int64(one(a)))
	case *big.Int:
		if x.typ == Float {
			f, _ := new(big.Float).SetInt(a).Float64()
			return f
		}
		return meaning(x.typ, bitsOf(a))
	}
	return a
}

func truths(op string, a, b bool) bool {
	switch op {
	case "xor", "!=":
		return a != b
	case "<->", "==":
		return a == b
	}
	return b // && || and ->, whose first operand did not decide
}

func (x *tree) reals(a, b float64) (number, bool) {
	switch x.op {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/":
		return a / b, b != 0
	case "==":
		return a == b, true
	case "!=":
		return a != b, true
	case "<":
		return a < b, true
	case "<=":
		return a <= b, true
	case ">":
		return a > b, true
	}
	return a >= b, true
}

func (x *tree) whole(a, b *big.Int) (number, bool) {
	order := a.Cmp(b)
	switch x.op {
	case "==":
		return order == 0, true
	case "!=":
		return order != 0, true
	case "<":
		return order < 0, true
	case "<=":
		return order <= 0, true
	case ">":
		return order > 0, true
	case ">=":
		return order >= 0, true
	}
	z := new(big.Int)
	switch x.op {
	case "+":
		z.Add(a, b)
	case "-":
		z.Sub(a, b)
	case "*":
		z.Mul(a, b)
	case "&":
		z.And(a, b)
	case "|":
		z.Or(a, b)
	case "^":
		z.Xor(a, b)
	case "<<", ">>":
		z.Set(shifted(x.op, a, bitsOf(b)))
	default:
		if b.Sign() == 0 {
			return nil, false
		}
		if x.op == "/" {
			z.Quo(a, b)
		} else {
			z.Rem(a, b)
		}
	}
	return meaning(x.typ, bitsOf(z)), true
}

// shifted shifts bit by bit, and stops when further ones change nothing.
func shifted(op string, a *big.Int, count uint64) *big.Int {
	z := new(big.Int).Set(a)
	for range min(count, 70) {
		if op == "<<" {
			z.Lsh(z, 1)
		} else {
			z.Rsh(z, 1) // rounds towards minus infinity, as a shift with sign does
		}
	}
	return z
}

// edges are the values around which operations differ.
var edges = []uint64{0, 1, 2, 3, 62, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64}

// anyBits draws 64 bits: often edges, floats, or small numbers.
func anyBits(t *rapid.T) uint64 {
	switch rapid.IntRange(0, 4).Draw(t, "bits of") {
	case 0:
		return rapid.Uint64().Draw(t, "bits")
	case 1:
		return math.Float64bits(rapid.Float64().Draw(t, "float"))
	case 2:
		return uint64(rapid.Int64Range(-5, 70).Draw(t, "small"))
	}
	return rapid.SampledFrom(edges).Draw(t, "edge")
}

// grower draws trees.
type grower struct {
	*rapid.T
	inputs int
	floats bool
}

func (g grower) types() []Type {
	if g.floats {
		return []Type{Bool, Int, Uint, Float}
	}
	return []Type{Bool, Int, Uint}
}

// tree draws a tree of a type, with up to so many levels.
func (g grower) tree(typ Type, depth int) *tree {
	if depth <= 1 || rapid.IntRange(0, 9).Draw(g.T, "leaf") == 0 {
		return g.leaf(typ)
	}
	if typ == Bool {
		return g.truth(depth - 1)
	}
	x := &tree{typ: typ}
	var ops []string
	switch typ {
	case Float:
		ops = []string{"+", "-", "*", "/", "neg", "convert"}
	case Int:
		ops = []string{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "/", "%", ">>", "neg", "~", "convert"}
	default:
		ops = []string{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "/", "%", ">>", "~", "convert"}
	}
	x.op = rapid.SampledFrom(ops).Draw(g.T, "op")
	switch x.op {
	case "neg", "~":
		x.kids = []*tree{g.tree(typ, depth-1)}
	case "convert":
		from := map[Type][]Type{Int: {Bool, Uint, Int}, Uint: {Bool, Int, Uint}, Float: {Int, Uint, Float}}[typ]
		x.kids = []*tree{g.tree(rapid.SampledFrom(from).Draw(g.T, "from"), depth-1)}
	case "<<", ">>":
		count := rapid.SampledFrom([]Type{Int, Uint}).Draw(g.T, "count")
		x.kids = []*tree{g.tree(typ, depth-1), g.tree(count, depth-1)}
	default:
		x.kids = []*tree{g.tree(typ, depth-1), g.tree(typ, depth-1)}
	}
	return x
}

// truth draws a tree of type Bool whose operands have up to so many levels.
func (g grower) truth(depth int) *tree {
	x := &tree{typ: Bool}
	x.op = rapid.SampledFrom([]string{"==", "!=", "<", "<=", ">", ">=", "&&", "||", "->", "xor", "<->", "not"}).Draw(g.T, "op")
	switch {
	case x.op == "not":
		x.kids = []*tree{g.tree(Bool, depth)}
		return x
	case !strings.ContainsAny(x.op, "=<>") || x.op == "->" || x.op == "<->":
		x.kids = []*tree{g.tree(Bool, depth), g.tree(Bool, depth)}
		return x
	}
	a := rapid.SampledFrom(g.types()).Draw(g.T, "left")
	b := a
	switch {
	case a == Bool && x.op != "==" && x.op != "!=":
		a, b = Int, Uint
	case a.whole():
		b = rapid.SampledFrom([]Type{Int, Uint}).Draw(g.T, "right")
	}
	x.kids = []*tree{g.tree(a, depth), g.tree(b, depth)}
	return x
}

func (g grower) leaf(typ Type) *tree {
	x := &tree{op: "const", typ: typ, bits: anyBits(g.T)}
	if typ == Bool {
		x.bits &= 1
	}
	if rapid.IntRange(0, 3).Draw(g.T, "constant") == 0 {
		return x
	}
	x.op, x.at = "input", rapid.IntRange(0, g.inputs-1).Draw(g.T, "input")
	x.form = Form{Type: typ, Bits: 64, Sign: rapid.Bool().Draw(g.T, "sign")}
	switch {
	case typ == Float:
		x.form.Bits = rapid.SampledFrom([]uint8{32, 64}).Draw(g.T, "bits")
	case rapid.Bool().Draw(g.T, "narrow"):
		x.form.Bits = uint8(rapid.IntRange(1, 64).Draw(g.T, "bits"))
	}
	return x
}
