package syntax

// Operator is an operator of formulas and expressions, in any spelling.
type Operator uint8

// The operators. Amp, Pipe, Caret and Tilde occur only in a *flat: Arrange replaces them by
// the operators of bits or of logic.
const (
	NoOperator Operator = iota

	Iff
	Implies
	Xor
	Or
	LogicalAnd

	Until
	WeakUntil
	Release
	StrongRelease
	Since
	WeakSince

	LogicalNot
	Always
	Eventually
	Next
	Prev       // on the first state its operand's value there
	StrongPrev // Y: false on the first state
	WeakPrev   // Z: true on the first state
	Once
	Historically
	Start // start(f)
	End   // end(f)

	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual

	BitOr
	BitXor
	BitAnd
	ShiftLeft
	ShiftRight
	Plus
	Minus
	Times
	Divide
	Modulo
	Negate
	Complement
	AtThread // @t before an operand

	Amp
	Pipe
	Caret
	Tilde
)

var operatorNames = [...]string{
	"", "<->", "->", "xor", "||", "&&",
	"until", "weak_until", "release", "strong_release", "since", "weak_since",
	"!", "always", "eventually", "next", "prev", "Y", "Z", "once", "historically", "start", "end",
	"==", "!=", "<", "<=", ">", ">=",
	"|", "^", "&", "<<", ">>", "+", "-", "*", "/", "%", "-", "~", "@",
	"&", "|", "^", "~",
}

// String returns the spelling of the operator in messages.
func (o Operator) String() string { return operatorNames[o] }

// IsTemporal reports whether the operator depends on other states than the present one.
func (o Operator) IsTemporal() bool {
	return o.binaryTemporal() || o >= Always && o <= End
}

// IsFuture reports whether the operator depends on later states.
func (o Operator) IsFuture() bool {
	return o >= Until && o <= StrongRelease || o >= Always && o <= Next
}

// IsComparison reports whether the operator compares two values.
func (o Operator) IsComparison() bool { return o >= Equal && o <= GreaterEqual }

// IsArithmetic reports whether the operator's operands and result are numbers.
func (o Operator) IsArithmetic() bool { return o >= BitOr && o <= Complement }

// binaryTemporal reports whether the operator is until, release, since or one of their weak
// and strong forms.
func (o Operator) binaryTemporal() bool { return o >= Until && o <= WeakSince }

// infixOps are the operators that stand between operands and are no words.
var infixOps = map[string]Operator{
	"<->": Iff, "<=>": Iff, "->": Implies, "=>": Implies, "||": Or, `\/`: Or, "&&": LogicalAnd, `/\`: LogicalAnd,
	"==": Equal, "!=": NotEqual, "<": Less, "<=": LessEqual, ">": Greater, ">=": GreaterEqual,
	"<<": ShiftLeft, ">>": ShiftRight, "+": Plus, "-": Minus, "*": Times, "/": Divide, "%": Modulo,
	"&": Amp, "|": Pipe, "^": Caret,
}

// logicWords are the words of logical operators between operands.
var logicWords = map[string]Operator{
	"iff": Iff, "IFF": Iff, "implies": Implies, "IMPLIES": Implies, "xor": Xor, "XOR": Xor, "or": Or, "OR": Or, "and": LogicalAnd, "AND": LogicalAnd,
}

// temporalWords are the words of temporal operators between operands.
var temporalWords = map[string]Operator{
	"until": Until, "U": Until, "weak_until": WeakUntil, "W": WeakUntil, "release": Release, "R": Release,
	"strong_release": StrongRelease, "M": StrongRelease, "since": Since, "S": Since, "weak_since": WeakSince, "B": WeakSince,
}

// prefixOps are the operators that stand before an operand and are no words, except for the
// temporal ones.
var prefixOps = map[string]Operator{
	"!": LogicalNot, "~": Tilde, "-": Negate, "+": Plus,
}

// temporalPrefixOps are the temporal operators before an operand that are no words.
var temporalPrefixOps = map[string]Operator{
	"[]": Always, "<>": Eventually, "(*)": Prev, "<*>": Once, "[*]": Historically,
}

// prefixWords are the words of logical operators before an operand.
var prefixWords = map[string]Operator{
	"not": LogicalNot, "NOT": LogicalNot,
}

// temporalPrefixWords are the words of temporal operators before an operand.
var temporalPrefixWords = map[string]Operator{
	"always": Always, "G": Always, "globally": Always, "eventually": Eventually, "F": Eventually, "finally": Eventually, "next": Next, "X": Next,
	"prev": Prev, "previously": Prev, "Y": StrongPrev, "Z": WeakPrev, "once": Once, "O": Once, "historically": Historically, "hist": Historically, "H": Historically,
}

// functionWords are the words of operators whose operand stands in parentheses.
var functionWords = map[string]Operator{
	"start": Start, "rise": Start, "end": End, "fall": End,
}
