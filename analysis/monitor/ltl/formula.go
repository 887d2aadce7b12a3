// Package ltl represents formulas of linear temporal logic, with past and future operators, as
// trees. A formula is a property of an infinite word. A letter of the word determines which of
// up to 64 propositions hold; propositions are known only by number. The package makes and
// prints formulas; package monitor decides them.
package ltl

import (
	"fmt"
	"strconv"
	"strings"
)

// Atoms is the number of propositions that a formula can have.
const Atoms = 64

// Op is the outermost operator of a formula.
type Op uint8

// The operators. Those up to Atom have no operand, those up to End have Left,
// the others Left and Right.
const (
	True Op = iota
	False
	Atom

	Not
	Always
	Eventually
	Next
	Prev         // true in the state before; on the first state, true in that state
	Yesterday    // true in the state before; false on the first state
	WeakPrev     // true in the state before; true on the first state
	Once         // true now or in some state before
	Historically // true now and in all states before
	Start        // true now, and not in the state before
	End          // false now, and true in the state before

	And
	Or
	Xor
	Implies
	Iff
	Until
	WeakUntil
	Release
	StrongRelease
	Since
	WeakSince
	Interval     // [f, g): f was true, and from then to now g was not
	WeakInterval // [f, g)w: the same, or g was never true
)

// spelling has the text of each operator, as String returns it.
var spelling = [...]string{
	True: "true", False: "false", Atom: "",
	Not: "!", Always: "always", Eventually: "eventually", Next: "next",
	Prev: "prev", Yesterday: "Y", WeakPrev: "Z", Once: "once", Historically: "historically",
	Start: "start", End: "end",
	And: "&&", Or: "||", Xor: "xor", Implies: "->", Iff: "<->",
	Until: "until", WeakUntil: "weak_until", Release: "release", StrongRelease: "strong_release",
	Since: "since", WeakSince: "weak_since", Interval: "[,)", WeakInterval: "[,)w",
}

// String returns the operator as the specification language spells it.
func (o Op) String() string {
	if int(o) < len(spelling) {
		return spelling[o]
	}
	return "operator " + strconv.Itoa(int(o))
}

// Arity returns the number of operands: 0, 1 or 2.
func (o Op) Arity() int {
	switch {
	case o <= Atom:
		return 0
	case o <= End:
		return 1
	default:
		return 2
	}
}

// IsFuture reports whether the operator depends on later states.
func (o Op) IsFuture() bool {
	switch o {
	case Always, Eventually, Next, Until, WeakUntil, Release, StrongRelease:
		return true
	}
	return false
}

// IsPast reports whether the operator depends on earlier states.
func (o Op) IsPast() bool {
	switch o {
	case Prev, Yesterday, WeakPrev, Once, Historically, Start, End, Since, WeakSince, Interval, WeakInterval:
		return true
	}
	return false
}

// Formula is a formula. It must not be changed once made. Several formulas may share a part.
// Errors about a part of a formula have the pointer to it, so that a caller can find its
// position in a text.
type Formula struct {
	Op          Op
	Atom        int      // only of Atom: the proposition, from 0 to 63
	Left, Right *Formula // nil beyond the operator's operands
}

// Constant returns true or false.
func Constant(value bool) *Formula {
	if value {
		return &Formula{Op: True}
	}
	return &Formula{Op: False}
}

// Proposition returns the formula that holds where proposition i does. Check returns an error
// if i is outside 0..63.
func Proposition(i int) *Formula { return &Formula{Op: Atom, Atom: i} }

// Unary returns the operator applied to f. Check returns an error if the operator has another
// arity.
func Unary(o Op, f *Formula) *Formula { return &Formula{Op: o, Left: f} }

// Binary returns the operator applied to f and g. Check returns an error if the operator has
// another arity.
func Binary(o Op, f, g *Formula) *Formula { return &Formula{Op: o, Left: f, Right: g} }

// Check returns an error if f is not well formed: operands are missing or too many, an operator
// is unknown, or a proposition is outside 0..63.
func (f *Formula) Check() error {
	seen := map[*Formula]bool{}
	var check func(f *Formula) error
	check = func(f *Formula) error {
		switch {
		case f == nil:
			return fmt.Errorf("formula: an operand is missing")
		case seen[f]:
			return nil
		case int(f.Op) >= len(spelling):
			return fmt.Errorf("formula: unknown %v", f.Op)
		case f.Op == Atom && (f.Atom < 0 || f.Atom >= Atoms):
			return fmt.Errorf("formula: proposition %d is outside 0 to %d", f.Atom, Atoms-1)
		}
		seen[f] = true
		operands := []*Formula{f.Left, f.Right}
		for i, operand := range operands {
			if i >= f.Op.Arity() {
				if operand != nil {
					return fmt.Errorf("formula: %v has more than %d operands", f.Op, f.Op.Arity())
				}
				continue
			}
			if err := check(operand); err != nil {
				return err
			}
		}
		return nil
	}
	return check(f)
}

// Operands returns the operands, none, one or two.
func (f *Formula) Operands() []*Formula {
	switch f.Op.Arity() {
	case 0:
		return nil
	case 1:
		return []*Formula{f.Left}
	default:
		return []*Formula{f.Left, f.Right}
	}
}

// String returns the formula with the names p0, p1, … for the propositions.
func (f *Formula) String() string { return f.Text(nil) }

// Text returns the formula in the specification language, with the given name for each
// proposition (nil: p0, p1, …). It has the parentheses that the language requires, and some
// that only help the reader.
func (f *Formula) Text(name func(int) string) string {
	var b strings.Builder
	f.write(&b, orNumbers(name))
	return b.String()
}

func orNumbers(name func(int) string) func(int) string {
	if name != nil {
		return name
	}
	return func(i int) string { return "p" + strconv.Itoa(i) }
}

func (f *Formula) write(b *strings.Builder, name func(int) string) {
	switch {
	case f.Op == Atom:
		b.WriteString(name(f.Atom))
	case f.Op.Arity() == 0:
		b.WriteString(f.Op.String())
	case f.Op == Interval || f.Op == WeakInterval:
		f.writeInterval(b, name)
	case f.Op.Arity() == 1:
		f.writePrefix(b, name)
	default:
		f.Left.writeOperand(b, name, f.Op)
		fmt.Fprintf(b, " %v ", f.Op)
		f.Right.writeOperand(b, name, f.Op)
	}
}

func (f *Formula) writeInterval(b *strings.Builder, name func(int) string) {
	b.WriteByte('[')
	f.Left.write(b, name)
	b.WriteString(", ")
	f.Right.write(b, name)
	b.WriteByte(')')
	if f.Op == WeakInterval {
		b.WriteByte('w')
	}
}

func (f *Formula) writePrefix(b *strings.Builder, name func(int) string) {
	b.WriteString(f.Op.String())
	switch {
	case f.Op == Start || f.Op == End:
		b.WriteByte('(')
		f.Left.write(b, name)
		b.WriteByte(')')
		return
	case f.Op != Not:
		b.WriteByte(' ')
	}
	f.Left.writeOperand(b, name, f.Op)
}

// writeOperand writes f as an operand of outer. An infix operator is put in parentheses, except
// in a sequence of the same associative operator.
func (f *Formula) writeOperand(b *strings.Builder, name func(int) string, outer Op) {
	infix := f.Op.Arity() == 2 && f.Op != Interval && f.Op != WeakInterval
	chain := f.Op == outer && (outer == And || outer == Or)
	if !infix || chain {
		f.write(b, name)
		return
	}
	b.WriteByte('(')
	f.write(b, name)
	b.WriteByte(')')
}
