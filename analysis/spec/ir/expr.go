package ir

import (
	"fmt"
	"math"
)

// Expr is an expression. It is not changed once made, so that it may be part of several others.
type Expr struct {
	op   op
	typ  Type
	a, b *Expr
	at   int    // for a load: the index of the input
	imm  uint64 // for a constant: its bits; for a load: how far it shifts
	size int    // bound of the number of instructions; not more than MaxInstructions + 1
	err  error  // why Compile refuses it
}

// Type returns the type of the expression's value. It is Invalid if the operands do not fit;
// Compile then returns the reason.
func (x *Expr) Type() Type { return x.typ }

// invalid returns an expression that Compile refuses.
func invalid(format string, args ...any) *Expr { return &Expr{err: fmt.Errorf(format, args...)} }

// operation returns an expression of up to two operands.
func operation(o op, t Type, a, b *Expr) *Expr {
	x := &Expr{op: o, typ: t, a: a, b: b, size: 1}
	for _, operand := range []*Expr{a, b} {
		switch {
		case operand == nil:
		case operand.err != nil:
			return operand
		default:
			x.size = min(x.size+operand.size, MaxInstructions+1)
		}
	}
	return x
}

// Const returns the constant of a type that has these bits.
func Const(t Type, bits uint64) *Expr {
	if t == Invalid || t == Bool && bits > 1 {
		return invalid("no %s has the bits %#x", t, bits)
	}
	return &Expr{op: opConst, typ: t, imm: bits, size: 1}
}

// Truth returns a constant truth value.
func Truth(v bool) *Expr { return Const(Bool, one(v)) }

// Real returns a constant Float.
func Real(v float64) *Expr { return Const(Float, math.Float64bits(v)) }

// MaxInput is the largest index of an input.
const MaxInput = 1<<31 - 1

// Input returns the value of the input at an index, from 0 to MaxInput.
func Input(at int, f Form) *Expr {
	switch {
	case at < 0 || at > MaxInput:
		return invalid("no input has the index %d", at)
	case f.Type == Invalid || f.Type > Float:
		return invalid("input %d has no type", at)
	}
	x := &Expr{typ: f.Type, at: at, size: 1}
	x.op, x.imm = f.load()
	return x
}

// Convert returns an expression as another type. A Bool becomes the integer 0 or 1. An Int and a
// Uint become each other, with the same bits, or the nearest Float.
func Convert(x *Expr, to Type) *Expr {
	switch from := x.typ; {
	case x.err != nil || from == to:
		return x
	case to.whole() && (from.whole() || from == Bool):
		y := operation(opConvert, to, x, nil)
		y.size = x.size // It needs no instruction.
		return y
	case to == Float && from == Int:
		return operation(opFloatI, Float, x, nil)
	case to == Float && from == Uint:
		return operation(opFloatU, Float, x, nil)
	}
	return invalid("a value of type %s is no %s", x.typ, to)
}

// fits returns an expression that Compile refuses unless an operand has one of the types; then it
// returns nil.
func fits(what string, x *Expr, types ...Type) *Expr {
	if x.err != nil {
		return x
	}
	for _, t := range types {
		if x.typ == t {
			return nil
		}
	}
	return invalid("%s does not take a value of type %s", what, x.typ)
}

// alike returns an expression that Compile refuses unless both operands have the same one of the
// types; then it returns nil.
func alike(what string, a, b *Expr, types ...Type) *Expr {
	if bad := fits(what, a, types...); bad != nil {
		return bad
	}
	return fits(what, b, a.typ)
}

// Negate returns -x for an Int or a Float.
func Negate(x *Expr) *Expr {
	if bad := fits("-", x, Int, Float); bad != nil {
		return bad
	}
	if x.typ == Float {
		return operation(opNegateF, Float, x, nil)
	}
	return operation(opNegate, Int, x, nil)
}

// Complement returns ^x, all bits of an Int or a Uint inverted.
func Complement(x *Expr) *Expr {
	if bad := fits("~", x, Int, Uint); bad != nil {
		return bad
	}
	return operation(opComplement, x.typ, x, nil)
}

// arithmetic returns an operation of two operands of the same type.
func arithmetic(what string, a, b *Expr, i, u, f op) *Expr {
	types := []Type{Int, Uint, Float}
	if f == opConst {
		types = types[:2]
	}
	if bad := alike(what, a, b, types...); bad != nil {
		return bad
	}
	return operation(map[Type]op{Int: i, Uint: u, Float: f}[a.typ], a.typ, a, b)
}

// Add returns a + b, for operands of the same type.
func Add(a, b *Expr) *Expr { return arithmetic("+", a, b, opAdd, opAdd, opAddF) }

// Sub returns a - b, for operands of the same type.
func Sub(a, b *Expr) *Expr { return arithmetic("-", a, b, opSub, opSub, opSubF) }

// Mul returns a · b, for operands of the same type.
func Mul(a, b *Expr) *Expr { return arithmetic("*", a, b, opMul, opMul, opMulF) }

// Div returns a / b, for operands of the same type. It has no value if b is 0.
func Div(a, b *Expr) *Expr { return arithmetic("/", a, b, opDivI, opDivU, opDivF) }

// Mod returns the remainder of a / b, with the sign of a, for integers of the same type. It has
// no value if b is 0.
func Mod(a, b *Expr) *Expr { return arithmetic("%", a, b, opModI, opModU, opConst) }

// BitAnd returns the bits that are set in both integers, which have the same type.
func BitAnd(a, b *Expr) *Expr { return arithmetic("&", a, b, opAnd, opAnd, opConst) }

// BitOr returns the bits that are set in either of the integers, which have the same type.
func BitOr(a, b *Expr) *Expr { return arithmetic("|", a, b, opOr, opOr, opConst) }

// BitXor returns the bits that are set in one of the integers, which have the same type.
func BitXor(a, b *Expr) *Expr { return arithmetic("^", a, b, opXor, opXor, opConst) }

// ShiftLeft returns an integer shifted left. The count is an integer of either type.
func ShiftLeft(x, count *Expr) *Expr { return shift("<<", x, count, opShl, opShl) }

// ShiftRight returns an integer shifted right, an Int with its sign. The count is an integer of
// either type.
func ShiftRight(x, count *Expr) *Expr { return shift(">>", x, count, opShrI, opShrU) }

func shift(what string, x, count *Expr, i, u op) *Expr {
	for _, operand := range []*Expr{x, count} {
		if bad := fits(what, operand, Int, Uint); bad != nil {
			return bad
		}
	}
	if x.typ == Uint {
		i = u
	}
	return operation(i, x.typ, x, count)
}

// Eq returns whether two values are equal. The operands of a comparison are two truth values (Eq
// and Ne alone), two integers of any types, or two floats.
func Eq(a, b *Expr) *Expr { return comparison(a, b, equal) }

// Ne returns whether two values differ.
func Ne(a, b *Expr) *Expr { return comparison(a, b, notEqual) }

// Lt returns whether a is less than b.
func Lt(a, b *Expr) *Expr { return comparison(a, b, less) }

// Le returns whether a is at most b.
func Le(a, b *Expr) *Expr { return comparison(a, b, atMost) }

// Gt returns whether a is greater than b.
func Gt(a, b *Expr) *Expr { return comparison(a, b, greater) }

// Ge returns whether a is at least b.
func Ge(a, b *Expr) *Expr { return comparison(a, b, atLeast) }

// The comparisons, by their places among those of operands of one type.
const (
	equal op = iota
	notEqual
	less
	atMost
	greater
	atLeast
)

// turned has, by the place of a comparison, that of the one which computes the same with its
// operands exchanged.
var turned = [...]op{equal, notEqual, greater, atLeast, less, atMost}

// comparison returns the comparison with a place among those of the operands' types.
func comparison(a, b *Expr, place op) *Expr {
	a, b = constantAs(a, b), constantAs(b, a)
	if a.typ == Uint && b.typ == Int {
		a, b, place = b, a, turned[place]
	}
	if a.typ == Int && b.typ == Uint {
		return operation(opEqM+place, Bool, a, b)
	}
	types := []Type{Int, Uint, Float, Bool}
	if place >= less {
		types = types[:3]
	}
	if bad := alike("a comparison", a, b, types...); bad != nil {
		return bad
	}
	switch {
	case a.typ == Float:
		return operation(opEqF+place, Bool, a, b)
	case a.typ == Uint && place >= less:
		return operation(opLtU+place-less, Bool, a, b)
	}
	return operation(opEq+place, Bool, a, b)
}

// constantAs returns x as the type of the integer that it is compared with, if it is a constant
// that is the same number in that type.
func constantAs(x, with *Expr) *Expr {
	if x.op == opConst && x.typ.whole() && with.typ.whole() && int64(x.imm) >= 0 {
		return Const(with.typ, x.imm)
	}
	return x
}

// Not returns whether a truth value is false.
func Not(x *Expr) *Expr { return Eq(x, Truth(false)) }

// Xor returns whether one of two truth values is true. Both are computed.
func Xor(a, b *Expr) *Expr {
	if bad := alike("xor", a, b, Bool); bad != nil {
		return bad
	}
	return operation(opXor, Bool, a, b)
}

// Iff returns whether two truth values are equal. Both are computed.
func Iff(a, b *Expr) *Expr {
	if bad := alike("<->", a, b, Bool); bad != nil {
		return bad
	}
	return operation(opEq, Bool, a, b)
}

// And returns whether both truth values are true. If the first is false, the second is not
// computed.
func And(a, b *Expr) *Expr { return lazy("&&", opBoth, a, b) }

// Or returns whether one of two truth values is true, or both. If the first is, the second is not
// computed.
func Or(a, b *Expr) *Expr { return lazy("||", opEither, a, b) }

// Implies returns whether the second truth value is true or the first is false. If the first is
// false, the second is not computed.
func Implies(a, b *Expr) *Expr {
	if bad := alike("->", a, b, Bool); bad != nil {
		return bad
	}
	return Or(Not(a), b)
}

func lazy(what string, o op, a, b *Expr) *Expr {
	if bad := alike(what, a, b, Bool); bad != nil {
		return bad
	}
	return operation(o, Bool, a, b)
}
