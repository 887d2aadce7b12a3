package ere

import (
	"encoding/binary"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/monitor/decision"
)

// Expressions are brought into a normal form, a Language, before they are derived. Languages
// are hash-consed, and their unions and intersections are flattened, sorted and without
// repetitions, so that there are finitely many derivatives, and mostly few (Brzozowski,
// Derivatives of Regular Expressions; Owens, Reppy, Turon, Regular-expression Derivatives
// Re-examined; Roşu and Viswanathan, Testing Extended Regular Language Membership
// Incrementally by Rewriting). The derivatives by all letters are one decision diagram with
// languages at its leaves. TestExpressionsMatchBruteForce of package monitor compares them with
// brute force.

// Language is a set of words in the Derivatives that made it.
type Language = uint32

// The languages that every Derivatives begins with.
const (
	nothing    Language = iota // no word
	emptyWord                  // only the word without letters
	everything                 // every word
)

// form is the normal form of an expression, whose operands are languages.
type form struct {
	op       Op
	cube     Cube       // for Letter
	min, max int        // for Repeat
	operands []Language // for Concat two, the first of which is no Concat
	nullable bool       // the word without letters is in the language
}

// Derivatives makes languages and their derivatives.
type Derivatives struct {
	// Table holds the diagrams of the derivatives.
	Table *decision.Table

	forms   []form // by Language
	unique  map[string]Language
	derived map[Language]decision.Node // the results of Derivative
	size    int                        // number of operands of all forms
	limit   int                        // bound on size and the number of forms together
	full    bool                       // the limit was reached

	union, intersection, concat *decision.Operation
}

// The bounds on the numbers of diagram nodes, and of forms with their operands, for each state
// that a monitor may have.
const (
	nodesPerState    = 32
	operandsPerState = 64
)

// NewDerivatives returns Derivatives for a monitor of up to limit states.
func NewDerivatives(limit int) *Derivatives {
	d := &Derivatives{
		Table:   decision.New(nodesPerState*limit + 1<<16),
		unique:  map[string]Language{},
		derived: map[Language]decision.Node{},
		limit:   operandsPerState*limit + 1<<16,
	}
	d.intern(form{op: Empty})
	d.intern(form{op: Epsilon, nullable: true})
	d.intern(form{op: Complement, operands: []Language{nothing}, nullable: true})
	d.union = d.Table.Operation(func(a, b uint32) uint32 { return d.unite([]Language{a, b}) })
	d.intersection = d.Table.Operation(func(a, b uint32) uint32 { return d.intersect([]Language{a, b}) })
	d.concat = d.Table.Operation(d.sequence)
	return d
}

// Full reports whether a bound was reached. Languages made since then are wrong, and the
// caller must discard them.
func (d *Derivatives) Full() bool { return d.full || d.Table.Full() }

func (d *Derivatives) intern(f form) Language {
	key := f.key()
	if l, ok := d.unique[key]; ok {
		return l
	}
	if d.size+len(d.forms) >= d.limit {
		d.full = true
		return nothing
	}
	l := Language(len(d.forms))
	d.forms = append(d.forms, f)
	d.size += len(f.operands)
	d.unique[key] = l
	return l
}

func (f form) key() string {
	b := []byte{byte(f.op)}
	switch f.op {
	case Letter:
		b = binary.LittleEndian.AppendUint64(b, f.cube.True)
		b = binary.LittleEndian.AppendUint64(b, f.cube.False)
	case Repeat:
		b = binary.AppendVarint(b, int64(f.min))
		b = binary.AppendVarint(b, int64(f.max))
	}
	for _, o := range f.operands {
		b = binary.LittleEndian.AppendUint32(b, o)
	}
	return string(b)
}

// Language returns the language of the words that r matches. r must have passed Check.
func (d *Derivatives) Language(r *Regexp) Language {
	done := map[*Regexp]Language{}
	var language func(r *Regexp) Language
	language = func(r *Regexp) Language {
		if l, ok := done[r]; ok {
			return l
		}
		operands := []Language{}
		for _, o := range r.Operands {
			operands = append(operands, language(o))
		}
		l := d.normal(r, operands)
		done[r] = l
		return l
	}
	return language(r)
}

func (d *Derivatives) normal(r *Regexp, operands []Language) Language {
	switch r.Op {
	case Epsilon:
		return emptyWord
	case Letter:
		return d.letter(r.Cube)
	case Concat:
		l := emptyWord
		for _, o := range slices.Backward(operands) {
			l = d.sequence(o, l)
		}
		return l
	case Union:
		return d.unite(operands)
	case Intersection:
		return d.intersect(operands)
	case Complement:
		return d.complement(operands[0])
	case Repeat:
		return d.repeat(operands[0], r.Min, r.Max)
	default:
		return nothing
	}
}

// Nullable reports whether the word without letters is in the language.
func (d *Derivatives) Nullable(l Language) bool { return d.forms[l].nullable }

func (d *Derivatives) letter(c Cube) Language {
	if c.True&c.False != 0 {
		return nothing
	}
	return d.intern(form{op: Letter, cube: c})
}

// sequence returns first followed by then.
func (d *Derivatives) sequence(first, then Language) Language {
	switch {
	case first == nothing || then == nothing:
		return nothing
	case first == emptyWord:
		return then
	case then == emptyWord:
		return first
	case first == everything && d.Nullable(then), then == everything && d.Nullable(first):
		return everything
	}
	if f := d.forms[first]; f.op == Concat {
		return d.sequence(f.operands[0], d.sequence(f.operands[1], then))
	}
	if first == everything {
		// everything everything X = everything X
		if f := d.forms[then]; f.op == Concat && f.operands[0] == everything {
			return then
		}
	}
	return d.intern(form{op: Concat, operands: []Language{first, then}, nullable: d.Nullable(first) && d.Nullable(then)})
}

// flatten returns the operands of an associative, commutative and idempotent
// operator, sorted, with operands of the same operator replaced by their own operands.
func (d *Derivatives) flatten(op Op, operands []Language) []Language {
	var flat []Language
	for _, o := range operands {
		if f := d.forms[o]; f.op == op {
			flat = append(flat, f.operands...)
		} else {
			flat = append(flat, o)
		}
	}
	slices.Sort(flat)
	return slices.Compact(flat)
}

func (d *Derivatives) unite(operands []Language) Language {
	flat := d.flatten(Union, operands)
	nullable, others := false, false
	for _, o := range flat {
		nullable = nullable || d.Nullable(o)
		others = others || o != emptyWord && d.Nullable(o)
	}
	flat = slices.DeleteFunc(flat, func(o Language) bool { return o == nothing || o == emptyWord && others })
	switch {
	case len(flat) == 0:
		return nothing
	case len(flat) == 1:
		return flat[0]
	case d.holdsOpposites(flat, everything):
		return everything
	}
	return d.intern(form{op: Union, operands: flat, nullable: nullable})
}

func (d *Derivatives) intersect(operands []Language) Language {
	flat := d.flatten(Intersection, operands)
	nullable, word := true, false
	for _, o := range flat {
		nullable = nullable && d.Nullable(o)
		word = word || o == emptyWord
	}
	if word {
		if nullable {
			return emptyWord
		}
		return nothing
	}
	flat = slices.DeleteFunc(flat, func(o Language) bool { return o == everything })
	switch {
	case len(flat) == 0:
		return everything
	case len(flat) == 1:
		return flat[0]
	case d.holdsOpposites(flat, nothing):
		return nothing
	}
	return d.intern(form{op: Intersection, operands: flat, nullable: nullable})
}

// holdsOpposites reports whether sorted operands contain absorbing, or a language and its
// complement.
func (d *Derivatives) holdsOpposites(sorted []Language, absorbing Language) bool {
	for _, o := range sorted {
		if o == absorbing {
			return true
		}
		if f := d.forms[o]; f.op == Complement {
			if _, ok := slices.BinarySearch(sorted, f.operands[0]); ok {
				return true
			}
		}
	}
	return false
}

func (d *Derivatives) complement(l Language) Language {
	if f := d.forms[l]; f.op == Complement {
		return f.operands[0]
	}
	return d.intern(form{op: Complement, operands: []Language{l}, nullable: !d.Nullable(l)})
}

func (d *Derivatives) repeat(l Language, minimum, maximum int) Language {
	if d.Nullable(l) {
		minimum = 0
	}
	switch {
	case maximum == 0 || l == emptyWord || l == nothing && minimum == 0:
		return emptyWord
	case l == nothing:
		return nothing
	case minimum == 1 && maximum == 1 || l == everything:
		return l
	case minimum == 0 && maximum == 1 && d.Nullable(l):
		return l
	}
	f := d.forms[l]
	switch {
	case f.op == Letter && f.cube == Cube{} && minimum == 0 && maximum == Unbounded:
		return everything
	case f.op == Repeat && flattens(f.min, f.max, minimum, maximum):
		return d.repeat(f.operands[0], f.min*minimum, product(f.max, maximum))
	}
	return d.intern(form{op: Repeat, min: minimum, max: maximum, operands: []Language{l}, nullable: minimum == 0})
}

// maxTimes bounds the products of bounds, so that none overflows.
const maxTimes = 1 << 40

// flattens reports whether a repetition of a repetition is one repetition, from the product of
// the minima to the product of the maxima. It is if the ranges for consecutive numbers of outer
// repetitions leave no gap between them.
func flattens(innerMin, innerMax, outerMin, outerMax int) bool {
	switch {
	case innerMin*outerMin > maxTimes || product(innerMax, outerMax) > maxTimes:
		return false
	case innerMin <= 1 || outerMin == outerMax:
		return true
	case outerMin == 0:
		return false
	default:
		return innerMax == Unbounded || outerMin*(innerMax-innerMin) >= innerMin-1
	}
}

// product multiplies two maxima, which are not 0.
func product(a, b int) int {
	if a == Unbounded || b == Unbounded {
		return Unbounded
	}
	return a * b
}

// Derivative returns, for each letter, the derivative of l: the language of the words w for
// which letter·w is in l.
func (d *Derivatives) Derivative(l Language) decision.Node {
	if n, ok := d.derived[l]; ok {
		return n
	}
	n := d.derive(l)
	if !d.Full() {
		d.derived[l] = n
	}
	return n
}

func (d *Derivatives) derive(l Language) decision.Node {
	f := d.forms[l]
	switch f.op {
	case Letter:
		return d.Table.Cube(f.cube.True, f.cube.False, emptyWord, nothing)
	case Concat:
		n := d.concat.Apply(d.Derivative(f.operands[0]), d.Table.Leaf(f.operands[1]))
		if d.Nullable(f.operands[0]) {
			n = d.union.Apply(n, d.Derivative(f.operands[1]))
		}
		return n
	case Union:
		return d.fold(d.union, f.operands)
	case Intersection:
		return d.fold(d.intersection, f.operands)
	case Complement:
		return d.Table.Map(d.Derivative(f.operands[0]), d.complement)
	case Repeat:
		rest := d.repeat(f.operands[0], max(f.min-1, 0), decrement(f.max))
		return d.concat.Apply(d.Derivative(f.operands[0]), d.Table.Leaf(rest))
	default:
		return d.Table.Leaf(nothing)
	}
}

// fold applies an operation to the derivatives of the operands, from the first to the last.
func (d *Derivatives) fold(o *decision.Operation, operands []Language) decision.Node {
	n := d.Derivative(operands[0])
	for _, l := range operands[1:] {
		n = o.Apply(n, d.Derivative(l))
	}
	return n
}

func decrement(maximum int) int {
	if maximum == Unbounded {
		return Unbounded
	}
	return maximum - 1
}
