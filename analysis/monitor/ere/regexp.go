// Package ere represents extended regular expressions over states. Beside union, concatenation
// and repetition they have intersection and complement. A letter of an expression is a
// conjunction of literals over up to 64 propositions, which are known only by number; it
// matches every state in which it holds.
package ere

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Cube is a conjunction of literals: every proposition whose bit is in True holds, and none
// whose bit is in False does. The zero Cube matches every state. A Cube with a bit in both
// matches none.
type Cube struct {
	True, False uint64
}

// Matches reports whether the cube matches the state in which exactly the propositions of
// letter hold.
func (c Cube) Matches(letter uint64) bool {
	return letter&c.True == c.True && letter&c.False == 0
}

// Text returns the cube in the specification language, { p, !q }, with the given name for each
// proposition (nil: p0, p1, …).
func (c Cube) Text(name func(int) string) string {
	if name == nil {
		name = func(i int) string { return "p" + strconv.Itoa(i) }
	}
	var literals []string
	for rest := c.True | c.False; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if c.True>>i&1 == 1 {
			literals = append(literals, name(i))
		}
		if c.False>>i&1 == 1 {
			literals = append(literals, "!"+name(i))
		}
	}
	if literals == nil {
		return "{ }"
	}
	return "{ " + strings.Join(literals, ", ") + " }"
}

// Op is the outermost operator of an expression.
type Op uint8

// The operators. Complement and Repeat have one operand, and Repeat has Min and Max. Concat,
// Union and Intersection have one or more operands.
const (
	Empty   Op = iota // no word
	Epsilon           // the word without letters
	Letter            // the words of one letter that Cube matches
	Concat
	Union
	Intersection
	Complement
	Repeat
)

// Unbounded as the Max of a Repeat stands for no bound.
const Unbounded = -1

// MaxRepeat is the largest Min and Max of a Repeat.
const MaxRepeat = 100_000

// Regexp is an expression. It must not be changed once made. Several expressions may share a
// part. Errors about a part of an expression have the pointer to it.
type Regexp struct {
	Op       Op
	Cube     Cube // of Letter
	Min, Max int  // of Repeat; Max may be Unbounded
	Operands []*Regexp
}

// None returns the expression that matches no word.
func None() *Regexp { return &Regexp{Op: Empty} }

// EmptyWord returns the expression that matches the word without letters.
func EmptyWord() *Regexp { return &Regexp{Op: Epsilon} }

// One returns the expression that matches the words of one letter that c matches.
func One(c Cube) *Regexp { return &Regexp{Op: Letter, Cube: c} }

// Sequence returns the concatenation of the operands.
func Sequence(operands ...*Regexp) *Regexp { return &Regexp{Op: Concat, Operands: operands} }

// Either returns the union of the operands.
func Either(operands ...*Regexp) *Regexp { return &Regexp{Op: Union, Operands: operands} }

// Both returns the intersection of the operands.
func Both(operands ...*Regexp) *Regexp { return &Regexp{Op: Intersection, Operands: operands} }

// Not returns the complement of r: the words that it does not match.
func Not(r *Regexp) *Regexp { return &Regexp{Op: Complement, Operands: []*Regexp{r}} }

// Times returns the repetition of r, from minimum to maximum times; the maximum may be
// Unbounded.
func Times(r *Regexp, minimum, maximum int) *Regexp {
	return &Regexp{Op: Repeat, Min: minimum, Max: maximum, Operands: []*Regexp{r}}
}

// Check returns an error if r is not well formed: operands are missing or too many, an operator
// is unknown, or the bounds of a repetition are negative, too large or in disorder.
func (r *Regexp) Check() error {
	seen := map[*Regexp]bool{}
	var check func(r *Regexp) error
	check = func(r *Regexp) error {
		if r == nil {
			return fmt.Errorf("expression: an operand is missing")
		}
		if seen[r] {
			return nil
		}
		seen[r] = true
		if err := r.checkShape(); err != nil {
			return err
		}
		for _, operand := range r.Operands {
			if err := check(operand); err != nil {
				return err
			}
		}
		return nil
	}
	return check(r)
}

func (r *Regexp) checkShape() error {
	n := len(r.Operands)
	switch r.Op {
	case Empty, Epsilon, Letter:
		if n != 0 {
			return fmt.Errorf("expression: a letter with operands: %d", n)
		}
	case Concat, Union, Intersection:
		if n == 0 {
			return fmt.Errorf("expression: an operand is missing")
		}
	case Complement, Repeat:
		if n != 1 {
			return fmt.Errorf("expression: one operand is wanted, not %d", n)
		}
		if r.Op == Repeat {
			return checkBounds(r.Min, r.Max)
		}
	default:
		return fmt.Errorf("expression: unknown operator %d", r.Op)
	}
	return nil
}

func checkBounds(minimum, maximum int) error {
	switch {
	case minimum < 0 || minimum > MaxRepeat || maximum > MaxRepeat:
		return fmt.Errorf("expression: repetition {%d,%d}: the bounds go from 0 to %d", minimum, maximum, MaxRepeat)
	case maximum != Unbounded && maximum < minimum:
		return fmt.Errorf("expression: repetition {%d,%d}: the bounds are in disorder", minimum, maximum)
	}
	return nil
}

// String returns the expression with the names p0, p1, … for the propositions.
func (r *Regexp) String() string { return r.Text(nil) }

// Text returns the expression in the specification language, with the given name for each
// proposition (nil: p0, p1, …).
func (r *Regexp) Text(name func(int) string) string {
	var b strings.Builder
	r.write(&b, name, Union)
	return b.String()
}

// binding returns the precedence of an operator: greater binds tighter.
func (o Op) binding() int {
	switch o {
	case Union:
		return 0
	case Intersection:
		return 1
	case Concat:
		return 2
	case Complement:
		return 3
	case Repeat:
		return 4
	default:
		return 5
	}
}

// write writes r, in parentheses if it binds less tightly than outer.
func (r *Regexp) write(b *strings.Builder, name func(int) string, outer Op) {
	if r.Op.binding() < outer.binding() {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch r.Op {
	case Empty:
		b.WriteString("empty")
	case Epsilon:
		b.WriteString("epsilon")
	case Letter:
		b.WriteString(r.Cube.Text(name))
	case Concat:
		r.writeAll(b, name, " ")
	case Union:
		r.writeAll(b, name, " | ")
	case Intersection:
		r.writeAll(b, name, " & ")
	case Complement:
		b.WriteByte('!')
		r.Operands[0].write(b, name, Empty)
	case Repeat:
		r.Operands[0].write(b, name, Empty)
		b.WriteString(times(r.Min, r.Max))
	}
}

func (r *Regexp) writeAll(b *strings.Builder, name func(int) string, between string) {
	for i, operand := range r.Operands {
		if i > 0 {
			b.WriteString(between)
		}
		operand.write(b, name, r.Op)
	}
}

func times(minimum, maximum int) string {
	switch {
	case minimum == 0 && maximum == Unbounded:
		return "*"
	case minimum == 1 && maximum == Unbounded:
		return "+"
	case minimum == 0 && maximum == 1:
		return "?"
	case maximum == Unbounded:
		return fmt.Sprintf("{%d,}", minimum)
	default:
		return fmt.Sprintf("{%d,%d}", minimum, maximum)
	}
}
