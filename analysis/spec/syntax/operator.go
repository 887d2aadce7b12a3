package syntax

// Operator is an operator of formulas and expressions, in any spelling.
type Operator uint8

// The operators. Amp, Pipe, Caret and Tilde occur only in a *Flat: Arrange replaces them by
// the operators of bits or of logic.
const (
	NoOperator Operator = iota

	Iff
	Implies
	Xor
	Or
	And2

	Until
	WeakUntil
	Release
	StrongRelease
	Since
	WeakSince

	Not1
	Always
	Eventually
	Next
	Prev       // stationary on the first state
	StrongPrev // Y: false there
	WeakPrev   // Z: true there
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

// String returns the spelling that printed formulas have.
func (o Operator) String() string { return operatorNames[o] }

// IsTemporal reports whether the operator looks at other states.
func (o Operator) IsTemporal() bool {
	return o >= Until && o <= WeakSince || o >= Always && o <= End
}

// IsFuture reports whether the operator looks at later states.
func (o Operator) IsFuture() bool {
	return o >= Until && o <= StrongRelease || o >= Always && o <= Next
}

// IsComparison reports whether the operator compares two values.
func (o Operator) IsComparison() bool { return o >= Equal && o <= GreaterEqual }

// IsArithmetic reports whether operands and result are numbers.
func (o Operator) IsArithmetic() bool { return o >= BitOr && o <= Complement }

// binaryTemporal reports whether the operator is until, release, since or one of their weak
// and strong forms.
func (o Operator) binaryTemporal() bool { return o >= Until && o <= WeakSince }

// infixOps are the signs between operands, infixWords the words.
var infixOps = map[string]Operator{
	"<->": Iff, "<=>": Iff, "->": Implies, "=>": Implies, "||": Or, `\/`: Or, "&&": And2, `/\`: And2,
	"==": Equal, "!=": NotEqual, "<": Less, "<=": LessEqual, ">": Greater, ">=": GreaterEqual,
	"<<": ShiftLeft, ">>": ShiftRight, "+": Plus, "-": Minus, "*": Times, "/": Divide, "%": Modulo,
	"&": Amp, "|": Pipe, "^": Caret,
}

var logicWords = map[string]Operator{
	"iff": Iff, "IFF": Iff, "implies": Implies, "IMPLIES": Implies, "xor": Xor, "XOR": Xor, "or": Or, "OR": Or, "and": And2, "AND": And2,
}

var temporalWords = map[string]Operator{
	"until": Until, "U": Until, "weak_until": WeakUntil, "W": WeakUntil, "release": Release, "R": Release,
	"strong_release": StrongRelease, "M": StrongRelease, "since": Since, "S": Since, "weak_since": WeakSince, "B": WeakSince,
}

// prefixOps are the signs before an operand, prefixWords the words.
var prefixOps = map[string]Operator{
	"!": Not1, "~": Tilde, "-": Negate, "+": Plus,
}

var temporalPrefixOps = map[string]Operator{
	"[]": Always, "<>": Eventually, "(*)": Prev, "<*>": Once, "[*]": Historically,
}

var prefixWords = map[string]Operator{
	"not": Not1, "NOT": Not1,
}

var temporalPrefixWords = map[string]Operator{
	"always": Always, "G": Always, "globally": Always, "eventually": Eventually, "F": Eventually, "finally": Eventually, "next": Next, "X": Next,
	"prev": Prev, "previously": Prev, "Y": StrongPrev, "Z": WeakPrev, "once": Once, "O": Once, "historically": Historically, "hist": Historically, "H": Historically,
}

// functionWords take their operand in parentheses.
var functionWords = map[string]Operator{
	"start": Start, "rise": Start, "end": End, "fall": End,
}
