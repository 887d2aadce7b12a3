package syntax

import "fmt"

// Arrange makes a tree of an expression that Parse returned as a flat. The precedence of & | ^
// depends on whether their operands are numbers: between numbers they bind tighter than a
// comparison, between propositions looser. The meaning of ~ depends on that too. The function
// isNumber reports whether a name is a number.
func Arrange(x Expr, isNumber func(Name) bool) (Expr, List) {
	a := &arranger{isNumber: isNumber}
	out := a.expr(x)
	return out, a.errs
}

// The levels of precedence, from loose to tight.
const (
	levelIff = iota + 1
	levelImplies
	levelXor
	levelOr
	levelAnd
	levelTemporal
	levelCompare
	levelBitOr
	levelBitXor
	levelBitAnd
	levelShift
	levelSum
	levelProduct
	levelSign
)

// level returns the precedence of an operator between operands.
func level(op Operator) int {
	switch op {
	case Iff:
		return levelIff
	case Implies:
		return levelImplies
	case Xor:
		return levelXor
	case Or:
		return levelOr
	case LogicalAnd:
		return levelAnd
	case BitOr:
		return levelBitOr
	case BitXor:
		return levelBitXor
	case BitAnd:
		return levelBitAnd
	case ShiftLeft, ShiftRight:
		return levelShift
	case Plus, Minus:
		return levelSum
	case Times, Divide, Modulo:
		return levelProduct
	}
	if op.IsComparison() {
		return levelCompare
	}
	return levelTemporal
}

// arranger makes trees of expressions, and collects the errors.
type arranger struct {
	isNumber func(Name) bool
	errs     List
}

func (a *arranger) expr(x Expr) Expr {
	switch x := x.(type) {
	case *flat:
		return a.flat(x)
	case *Paren:
		return &Paren{a.expr(x.X), x.Span}
	case *Unary:
		return &Unary{x.Op, a.expr(x.X), x.Span}
	case *Interval:
		return &Interval{a.expr(x.F), a.expr(x.G), x.Weak, x.Span}
	case *Quantified:
		q := *x
		q.X = a.expr(x.X)
		return &q
	}
	return x
}

// row is a flat of which a tree is made, by precedence climbing.
type row struct {
	*arranger
	terms []term
	ops   []flatOp
	at    int // index of the next operator, and of the next operand
}

func (a *arranger) flat(f *flat) Expr {
	r := &row{arranger: a, terms: make([]term, len(f.terms)), ops: append([]flatOp(nil), f.ops...)}
	for i, t := range f.terms {
		r.terms[i] = term{append([]flatOp(nil), t.prefix...), a.expr(t.x)}
	}
	r.classify()
	return r.binary(levelIff)
}

// classify replaces & | ^ ~ by operators of bits if the operands beside them are numbers, else
// by operators of logic.
func (r *row) classify() {
	for i := range r.terms {
		t := &r.terms[i]
		number := r.isNumeric(t.x)
		for j := range t.prefix {
			if op := &t.prefix[j]; op.op == Tilde {
				op.op = LogicalNot
				if number {
					op.op = Complement
				}
			}
		}
	}
	bits := map[Operator]Operator{Amp: BitAnd, Pipe: BitOr, Caret: BitXor}
	logic := map[Operator]Operator{Amp: LogicalAnd, Pipe: Or, Caret: Xor}
	for i := range r.ops {
		op := &r.ops[i]
		if bit, ok := bits[op.op]; ok {
			left, right := r.terms[i], r.terms[i+1]
			if r.isNumeric(left.x) && r.isNumeric(right.x) && !hasLogic(right.prefix) {
				op.op = bit
			} else {
				op.op = logic[op.op]
			}
		}
	}
}

// hasLogic reports whether an operator of logic is among the operators before an operand.
func hasLogic(prefix []flatOp) bool {
	for _, op := range prefix {
		if !op.op.IsArithmetic() && op.op != AtThread {
			return true
		}
	}
	return false
}

// isNumeric reports whether an arranged expression is a number.
func (a *arranger) isNumeric(x Expr) bool {
	switch x := x.(type) {
	case *Ident:
		return a.isNumber(x.Name)
	case *Number, *Count:
		return true
	case *Paren:
		return a.isNumeric(x.X)
	case *At:
		return a.isNumeric(x.X)
	case *Unary:
		return x.Op.IsArithmetic()
	case *Binary:
		return x.Op.IsArithmetic()
	}
	return false
}

// binary returns the tree of the next operand and of the operators after it whose precedence is
// at least a level.
func (r *row) binary(least int) Expr {
	return r.extend(r.unary(), least)
}

// unary returns the tree of the next operand and the operators before it.
func (r *row) unary() Expr {
	t := r.terms[r.at]
	return r.prefixed(t.prefix, t.x)
}

// prefixed applies the operators before an operand to it. A sign or @t applies to the operand
// alone, an operator of logic to the whole comparison that the operand begins.
func (r *row) prefixed(prefix []flatOp, x Expr) Expr {
	if len(prefix) == 0 {
		return x
	}
	op := prefix[0]
	inner := r.prefixed(prefix[1:], x)
	switch {
	case op.op == AtThread:
		return &At{op.thread, inner, op.span}
	case op.op == Plus:
		return inner
	case op.op.IsArithmetic():
		return &Unary{op.op, inner, op.span}
	}
	return &Unary{op.op, r.extend(inner, levelCompare), op.span}
}

// extend returns the tree of x and of the operators after it whose precedence is at least a
// level.
func (r *row) extend(x Expr, least int) Expr {
	for r.at < len(r.ops) && level(r.ops[r.at].op) >= least {
		op := r.ops[r.at]
		next := level(op.op) + 1
		if op.op == Implies {
			next = levelImplies
		}
		r.at++
		x = r.join(op, x, r.binary(next))
	}
	return x
}

// join returns an operator with its two operands. It reports an error if these have two
// readings.
func (r *row) join(op flatOp, x, y Expr) Expr {
	out := &Binary{op.op, x, y, op.span}
	switch logic := op.op == LogicalAnd || op.op == Or; {
	case logic || op.op.binaryTemporal():
		if inner, ok := bare(x, Operator.binaryTemporal); ok {
			r.twoReadings(out, fmt.Sprintf("(%s) %s %s", SourceText(x), op.word(), SourceText(y)),
				fmt.Sprintf("%s %s (%s %s %s)", SourceText(inner.X), inner.Span.Text(), SourceText(inner.Y), op.word(), SourceText(y)))
		} else if inner, ok := bare(y, Operator.binaryTemporal); ok && logic {
			r.twoReadings(out, fmt.Sprintf("%s %s (%s)", SourceText(x), op.word(), SourceText(y)),
				fmt.Sprintf("(%s %s %s) %s %s", SourceText(x), op.word(), SourceText(inner.X), inner.Span.Text(), SourceText(inner.Y)))
		}
	case op.op.IsComparison():
		if inner, ok := bare(x, Operator.IsComparison); ok {
			r.comparisons(out, inner)
		}
	}
	return out
}

// word returns the operator as it was written.
func (o flatOp) word() string { return o.span.Text() }

// bare returns x if it is an operation that is not in parentheses, and reports whether is
// reports true of its operator.
func bare(x Expr, is func(Operator) bool) (*Binary, bool) {
	b, ok := x.(*Binary)
	return b, ok && is(b.Op)
}

// twoReadings reports an error with the two ways to put parentheses.
func (a *arranger) twoReadings(x *Binary, one, other string) {
	a.errs = append(a.errs, &Diagnostic{Kind: Ambiguous, Span: x.Where(), Message: "this has two readings: put parentheses",
		Notes: []string{"either  " + one, "or      " + other}})
}

// comparisons reports an error for a comparison x of the comparison inner. Often & between
// numbers is the cause.
func (a *arranger) comparisons(x, inner *Binary) {
	d := &Diagnostic{Kind: Ambiguous, Span: x.Where(), Message: "a comparison beside a comparison: put parentheses"}
	signs := map[Operator]string{BitAnd: "&&", BitOr: "||", BitXor: "xor"}
	if mid, ok := inner.Y.(*Binary); ok && signs[mid.Op] != "" {
		d.Message = fmt.Sprintf("%s between numbers is an operator of bits and binds tighter than %s", mid.Span.Text(), inner.Op)
		d.Notes = []string{
			fmt.Sprintf("it reads  %s %s (%s) %s %s", SourceText(inner.X), inner.Op, SourceText(mid), x.Op, SourceText(x.Y)),
			fmt.Sprintf("write     %s %s %s %s %s %s %s", SourceText(inner.X), inner.Op, SourceText(mid.X), signs[mid.Op], SourceText(mid.Y), x.Op, SourceText(x.Y)),
		}
	}
	a.errs = append(a.errs, d)
}

// SourceText returns the text of an expression as it was written, in one line.
func SourceText(x interface{ Where() Span }) string { return x.Where().Text() }
