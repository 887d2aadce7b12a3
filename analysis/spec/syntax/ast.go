package syntax

// File is what a text declares.
type File struct {
	Source *Source
	Decls  []Decl
}

// Name is a name that is declared or used.
type Name struct {
	Text string
	Span Span
}

// Path is a name of the program: a variable, a function, a field.
type Path struct {
	Text string
	Span Span
}

// Text is a string.
type Text struct {
	Text string
	Span Span
}

// Decl is a declaration: *Include, *Var, *Sync, *Thread, *Event, *Prop, *Local,
// *Property, *Check, *Typestate, *MTTL or *Scope.
type Decl interface {
	// Where returns the span of the declared name, or of the keyword.
	Where() Span
}

// Include takes the declarations of another file.
type Include struct {
	File Text
}

// Var is a watched variable.
type Var struct {
	Name Name
	Type *Name // nil: the debug information's
	Path Path
}

// SyncKind is the sort of a synchronising object.
type SyncKind uint8

// The sorts of synchronising object.
const (
	Lock SyncKind = iota
	Cond
	Sem
	Barrier
)

var syncNames = [...]string{"lock", "cond", "sem", "barrier"}

// String returns the keyword.
func (k SyncKind) String() string { return syncNames[k&3] }

// Sync is a lock, a condition, a semaphore or a barrier: of the variable Path, or
// of every object's field Path, of type Class.
type Sync struct {
	Kind  SyncKind
	Name  Name
	Class *Path // nil: Path is a variable
	Path  Path
}

// ThreadKind is the way in which a declaration selects threads.
type ThreadKind uint8

// The ways to select threads.
const (
	ByStart ThreadKind = iota // by their start routine, Path
	ByName                    // by their name, Glob
	MainThread
	NthOf // one, in order of creation, of those of type Of
)

// Thread is a type of threads.
type Thread struct {
	Kind ThreadKind
	Name Name
	Path Path
	Glob Text
	Nth  uint64
	Of   Name
}

// Event is a kind of event.
type Event struct {
	Name    Name
	Pattern Pattern
	By      *Name // nil: any thread
	When    Expr  // nil: always
}

// Op is what a pattern matches.
type Op uint8

// What patterns match.
const (
	OpCall Op = iota
	OpReturn
	OpAcquire
	OpRelease
	OpWait
	OpSignal
	OpBroadcast
	OpPost
	OpArrive
	OpRead
	OpWrite
	OpStart
	OpEnd
	OpFork
	OpJoin
)

var opNames = [...]string{
	"call", "return", "acquire", "release", "wait", "signal", "broadcast", "post", "arrive", "read", "write", "start", "end", "fork", "join",
}

// String returns the word that begins the pattern.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "event"
}

// Pattern selects events of a run.
type Pattern struct {
	Op     Op
	Span   Span
	Func   Path   // of call and return
	Params []Name // bound in order, "_" for none
	Result *Name  // of return; of write: the value
	Any    bool   // acquire any, release any
	Object Name   // the declared object, or thread type
}

// Prop is a named proposition over the state.
type Prop struct {
	Name Name
	Expr Expr
}

// Local is a variable of each thread that the specification keeps.
type Local struct {
	Name  Name
	Type  *Name
	Value Expr
	On    []Clause
}

// Clause is what one event does to local variables; nothing where Sets is empty.
type Clause struct {
	Event Name
	Sets  []Assign
}

// Assign sets a local variable.
type Assign struct {
	Name  Name
	Value Expr
}

// Logic is how a property is given.
type Logic uint8

// The logics.
const (
	LTL Logic = iota
	EREBad
	EREGood
	Automaton
)

var logicNames = [...]string{"ltl", "ere bad", "ere good", "automaton"}

// String names the logic.
func (l Logic) String() string { return logicNames[l&3] }

// Property is what must never happen.
type Property struct {
	Name    Name
	Message *Text
	Logic   Logic
	Formula Expr    // of LTL
	Regex   Regex   // of EREBad and EREGood
	States  []State // of Automaton
	Span    Span    // of the whole body
}

// State is a state of an automaton or a typestate.
type State struct {
	Name  Name
	Bad   bool
	Final bool
	Edges []Edge
}

// Edge is a transition: by a letter in an automaton, by an event in a typestate.
type Edge struct {
	Letter *Letter
	Event  Name
	To     Name
}

// Check requests a built-in analysis.
type Check struct {
	Analysis Name
	Vars     []Name // of races
	Func     *Path  // of atomicity
}

// Typestate is a protocol of the use of objects.
type Typestate struct {
	Name   Name
	Object Name // the bound name that identifies the object
	Type   Text // as written
	Events []Event
	States []State
	Good   Regex // in place of States
}

// MTTL is a formula of knowledge.
type MTTL struct {
	Name    Name
	Message *Text
	Formula Expr
}

// Scope is a monitor of the global states between synchronising actions.
type Scope struct {
	Name   Name
	Sync   Name
	Locals []LocalProperty
	Atoms  []Prop
	Checks []ScopeCheck
}

// LocalProperty is a property of the threads of a type, judged in each region.
type LocalProperty struct {
	Name    Name
	Type    Name
	Events  []Name
	Formula Expr
	Across  bool // carried over scopes
}

// ScopeCheck is what must hold of a scope's states.
type ScopeCheck struct {
	Message *Text
	Formula Expr
	Span    Span
}

// Where returns the span of the included file's name.
func (d *Include) Where() Span { return d.File.Span }

// Where returns the span of the name.
func (d *Var) Where() Span { return d.Name.Span }

// Where returns the span of the name.
func (d *Sync) Where() Span { return d.Name.Span }

// Where returns the span of the name.
func (d *Thread) Where() Span { return d.Name.Span }

// Where returns the span of the name.
func (d *Event) Where() Span { return d.Name.Span }

// Where returns the span of the name.
func (d *Prop) Where() Span { return d.Name.Span }

// Where returns the span of the name.
func (d *Local) Where() Span { return d.Name.Span }

// Where returns the span of the name.
func (d *Property) Where() Span { return d.Name.Span }

// Where returns the span of the analysis' name.
func (d *Check) Where() Span { return d.Analysis.Span }

// Where returns the span of the name.
func (d *Typestate) Where() Span { return d.Name.Span }

// Where returns the span of the name.
func (d *MTTL) Where() Span { return d.Name.Span }

// Where returns the span of the name.
func (d *Scope) Where() Span { return d.Name.Span }

// Expr is an expression or a formula: *Ident, *Number, *Bool, *Null, *Unary,
// *Binary, *Interval, *At, *Count, *Quantified, *Paren, and *Flat until Arrange.
type Expr interface {
	// Where returns the span of the whole.
	Where() Span
}

// Ident is a name in an expression.
type Ident struct{ Name Name }

// Number is a literal number.
type Number struct {
	Text  string
	Float bool
	Int   uint64
	Real  float64
	Span  Span
}

// Bool is true or false.
type Bool struct {
	Value bool
	Span  Span
}

// Null is the null pointer.
type Null struct{ Span Span }

// Unary is an operator before its operand.
type Unary struct {
	Op   Operator
	X    Expr
	Span Span // of the operator
}

// Binary is an operator between its operands.
type Binary struct {
	Op   Operator
	X, Y Expr
	Span Span // of the operator
}

// Interval is [F, G), or [F, G)w where Weak.
type Interval struct {
	F, G Expr
	Weak bool
	Span Span
}

// At is @t(X): the value of X in the latest known state of t.
type At struct {
	Thread Name
	X      Expr
	Span   Span
}

// Count is count(p, V), size(t), any(p, V) or all(p, V) of a scope.
type Count struct {
	Func    Name
	Of      Name
	Verdict string // T, F, ?, na; "" of size
	Span    Span
}

// Quantified is forall or exists over living threads.
type Quantified struct {
	Exists bool
	Vars   []ThreadVar
	Differ [][2]Name // pairs that are not the same thread
	X      Expr
	Span   Span
}

// ThreadVar is a name for a thread of a type.
type ThreadVar struct{ Name, Type Name }

// Paren is an expression in parentheses.
type Paren struct {
	X    Expr
	Span Span
}

// Flat is a row of operands with the operators before and between them. Arrange makes a
// tree of it.
type Flat struct {
	Terms []Term
	Ops   []FlatOp // Ops[i] stands between Terms[i] and Terms[i+1]
}

// Term is an operand with the operators before it.
type Term struct {
	Prefix []FlatOp
	X      Expr
}

// FlatOp is an operator in a row.
type FlatOp struct {
	Op     Operator
	Thread Name // of @t
	Span   Span
}

// Where returns the span of the whole.
func (x *Ident) Where() Span { return x.Name.Span }

// Where returns the span of the whole.
func (x *Number) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *Bool) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *Null) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *Unary) Where() Span { return Span{x.Span.Pos, x.X.Where().End} }

// Where returns the span of the whole.
func (x *Binary) Where() Span { return Span{x.X.Where().Pos, x.Y.Where().End} }

// Where returns the span of the whole.
func (x *Interval) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *At) Where() Span { return Span{x.Span.Pos, x.X.Where().End} }

// Where returns the span of the whole.
func (x *Count) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *Quantified) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *Paren) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *Flat) Where() Span {
	first, last := x.Terms[0], x.Terms[len(x.Terms)-1]
	s := first.X.Where()
	if len(first.Prefix) > 0 {
		s = first.Prefix[0].Span
	}
	return Span{s.Pos, last.X.Where().End}
}

// Regex is an expression over letters: *Letter, *Cat, *Alt, *And, *Not, *Repeat,
// *Epsilon or *Empty.
type Regex interface {
	// Where returns the span of the whole.
	Where() Span
}

// Letter is a state in which its literals hold.
type Letter struct {
	Literals []Literal
	Span     Span
}

// Literal is a proposition, or its negation.
type Literal struct {
	Not  bool
	Name Name
}

// Cat is one after the other.
type Cat struct{ Parts []Regex }

// Alt is one or another.
type Alt struct{ Parts []Regex }

// And is all at once.
type And struct{ Parts []Regex }

// Not is the complement.
type Not struct {
	X    Regex
	Span Span // of the sign
}

// Repeat is X from Min to Max times; Max -1 is no limit.
type Repeat struct {
	X        Regex
	Min, Max int
	End      int
}

// Epsilon is the empty word.
type Epsilon struct{ Span Span }

// Empty is no word.
type Empty struct{ Span Span }

// Where returns the span of the whole.
func (x *Letter) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *Cat) Where() Span { return spanOf(x.Parts) }

// Where returns the span of the whole.
func (x *Alt) Where() Span { return spanOf(x.Parts) }

// Where returns the span of the whole.
func (x *And) Where() Span { return spanOf(x.Parts) }

// Where returns the span of the whole.
func (x *Not) Where() Span { return Span{x.Span.Pos, x.X.Where().End} }

// Where returns the span of the whole.
func (x *Repeat) Where() Span { return Span{x.X.Where().Pos, x.End} }

// Where returns the span of the whole.
func (x *Epsilon) Where() Span { return x.Span }

// Where returns the span of the whole.
func (x *Empty) Where() Span { return x.Span }

func spanOf(parts []Regex) Span {
	return Span{parts[0].Where().Pos, parts[len(parts)-1].Where().End}
}
