package syntax

// File has the declarations of one text.
type File struct {
	Source *Source
	Decls  []Decl
}

// Name is a name in the specification, where it is declared or used.
type Name struct {
	Text string
	Span Span
}

// Path names something in the program: a variable, a function or a field.
type Path struct {
	Text string
	Span Span
}

// Text is the text of a string, without quotes.
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

// Include adds the declarations of another file.
type Include struct {
	File Text
}

// Var is a watched variable.
type Var struct {
	Name Name
	Type *Name // nil: the debug information determines it
	Path Path
}

// SyncKind is the kind of a synchronisation object.
type SyncKind uint8

// The kinds of synchronisation object.
const (
	Lock SyncKind = iota
	Cond
	Sem
	Barrier
)

var syncNames = [...]string{"lock", "cond", "sem", "barrier"}

// String returns the keyword.
func (k SyncKind) String() string { return syncNames[k&3] }

// Sync is a lock, a condition, a semaphore or a barrier: the variable Path or, with Class, the
// field Path of every object of that type.
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
	NthOf // the Nth, in order of creation, of the type Of
)

// Thread is a type of threads.
type Thread struct {
	Kind ThreadKind
	Name Name
	Path Path   // for ByStart
	Glob Text   // for ByName
	Nth  uint64 // for NthOf, from 1
	Of   Name   // for NthOf
}

// Event is a declared event: a pattern of the events of a run.
type Event struct {
	Name    Name
	Pattern Pattern
	By      *Name // nil: any thread
	When    Expr  // nil: always
}

// Op is the operation that a pattern matches.
type Op uint8

// The operations.
const (
	OpCall Op = iota
	OpReturn
	OpEnter
	OpLeave
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
	"call", "return", "enter", "leave", "acquire", "release", "wait", "signal", "broadcast", "post", "arrive", "read", "write", "start", "end", "fork", "join",
}

// String returns the word that begins the pattern.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "event"
}

// OfCode reports whether the operation is a call of a function or its return, or the entry into lines of the source or the
// departure from them.
func (o Op) OfCode() bool { return o <= OpLeave }

// Ends reports whether the operation is the end of one that OfCode has: a return or a departure.
func (o Op) Ends() bool { return o == OpReturn || o == OpLeave }

// Pattern selects events of a run.
type Pattern struct {
	Op     Op
	Span   Span
	Func   Path    // for call and return; for enter and leave the lines, FILE:FIRST-LAST
	Params []Param // what the parameters bind, in order
	Result *Name   // the name that the result of a return, or the value of a write, binds
	Any    bool    // for acquire and release: of any lock
	Object Name    // for the others: the declared object or thread type
}

// Param is what a pattern binds to a parameter.
type Param struct {
	Name // "_" binds none
	// Stored: *NAME or NAME[N] binds what the function had stored, when it returned, at the address that the parameter is.
	// Element is N, from 0 to 255.
	Stored  bool
	Element int
	Int     bool // ": int" follows: without debug information it is an int instead of a pointer
}

// Prop is a named proposition over the state.
type Prop struct {
	Name Name
	Expr Expr
}

// Local is a variable that the specification keeps for each thread.
type Local struct {
	Name  Name
	Type  *Name
	Value Expr
	On    []Clause
}

// Clause has the assignments to local variables that an event makes. It may have none.
type Clause struct {
	Event Name
	Sets  []Assign
}

// Assign sets a local variable.
type Assign struct {
	Name  Name
	Value Expr
}

// Logic is the formalism of a property.
type Logic uint8

// The logics.
const (
	LTL Logic = iota
	EREBad
	EREGood
	Automaton
)

var logicNames = [...]string{"ltl", "ere bad", "ere good", "automaton"}

// String returns the name of the logic.
func (l Logic) String() string { return logicNames[l&3] }

// Property is a property of runs: a formula that every run must satisfy, an expression that a
// run must not match or must be able to match, or an automaton whose bad states a run must not
// reach.
type Property struct {
	Name    Name
	Of      *Parameter // nil: it is one of the whole program
	Message *Text
	Logic   Logic
	Formula Expr    // for LTL
	Regex   Regex   // for EREBad and EREGood
	States  []State // for Automaton
	Span    Span    // the whole body
}

// Parameter is the object that a property is of.
type Parameter struct {
	Name Name
	Type Text // as written
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
	Vars     []Name // for races
	Func     *Path  // for atomicity; with Lines, lines of the source: FILE:FIRST-LAST
	Lines    bool
}

// Typestate is a protocol of the use of objects.
type Typestate struct {
	Name   Name
	Object Name // the bound name that identifies the object
	Type   Text // the object's type, as written
	Events []Event
	States []State
	Regex  Regex // an expression over the names of Events, in place of States; nil: none
	Whole  Span  // of Regex, with the words before it
	Bad    bool  // Regex matches what breaks the protocol, and not what keeps it
	// Mined: the block was learned from runs. BornAtFirstUse: an object whose creation was not seen is in the first state.
	// RebornAtNextUse: what comes again after its end is another object.
	Mined, BornAtFirstUse, RebornAtNextUse bool
}

// MTTL is a formula on what threads know of one another.
type MTTL struct {
	Name    Name
	Message *Text
	Formula Expr
	// EachEvent: a thread has a state after each of its events. No text says so: it is of ready formulas.
	EachEvent bool
}

// Scope is a monitor of the global states between synchronising actions.
type Scope struct {
	Name   Name
	Sync   Name
	Locals []LocalProperty
	Inner  []*Scope // scopes of its regions, which have none themselves
	Atoms  []Prop
	Checks []ScopeCheck
}

// LocalProperty is a property of the threads of a type, evaluated anew after each synchronising
// action.
type LocalProperty struct {
	Name    Name
	Type    Name
	Events  []Name
	Formula Expr
	Across  bool // across scopes: its evaluation continues after a synchronising action
}

// ScopeCheck is a formula that the global states of a scope must satisfy.
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

// Expr is an expression or a formula: *Ident, *Number, *Bool, *Null, *Unary, *Binary,
// *Interval, *At, *Count, *Quantified or *Paren. Before Arrange it may be *flat too.
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

// Interval is [F, G) or, if it is weak, [F, G)w.
type Interval struct {
	F, G Expr
	Weak bool
	Span Span
}

// At is @t(x): the value of x in the latest known state of t.
type At struct {
	Thread Name
	X      Expr
	Span   Span
}

// Count is count(p, V), size(t), any(p, V) or all(p, V) of a scope, where p is a local property or an inner scope.
type Count struct {
	Func    Name
	Of      Name
	Verdict string // V: T, F, ? or na; "" for size
	Span    Span
}

// Quantified is forall or exists over the threads that are alive.
type Quantified struct {
	Exists bool
	Vars   []ThreadVar
	Differ [][2]Name // pairs that are not the same thread
	X      Expr
	Span   Span
}

// ThreadVar is a name that stands for a thread of a type.
type ThreadVar struct{ Name, Type Name }

// Paren is an expression in parentheses.
type Paren struct {
	X    Expr
	Span Span
}

// flat is a sequence of operands with the operators before and between them. Arrange makes a
// tree of it.
type flat struct {
	terms []term
	ops   []flatOp // ops[i] stands between terms[i] and terms[i+1]
}

// term is an operand with the operators before it.
type term struct {
	prefix []flatOp
	x      Expr
}

// flatOp is an operator in a flat.
type flatOp struct {
	op     Operator
	thread Name // for AtThread: t of @t
	span   Span
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
func (x *flat) Where() Span {
	first, last := x.terms[0], x.terms[len(x.terms)-1]
	s := first.x.Where()
	if len(first.prefix) > 0 {
		s = first.prefix[0].span
	}
	return Span{s.Pos, last.x.Where().End}
}

// Regex is a regular expression over letters: *Letter, *Cat, *Alt, *And, *Not, *Repeat,
// *Epsilon or *Empty.
type Regex interface {
	// Where returns the span of the whole.
	Where() Span
}

// Letter matches a state in which all its literals hold.
type Letter struct {
	Literals []Literal
	Span     Span
}

// Literal is a proposition, or its negation.
type Literal struct {
	Not  bool
	Name Name
}

// Cat is a concatenation.
type Cat struct{ Parts []Regex }

// Alt is a union.
type Alt struct{ Parts []Regex }

// And is an intersection.
type And struct{ Parts []Regex }

// Not is a complement.
type Not struct {
	X    Regex
	Span Span // of the operator
}

// Repeat is x from Min to Max times. A Max of -1 is no limit.
type Repeat struct {
	X        Regex
	Min, Max int
	End      int // offset after its last byte
}

// Epsilon matches the empty word.
type Epsilon struct{ Span Span }

// Empty matches no word.
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

// spanOf returns the span from the first part to the last.
func spanOf(parts []Regex) Span {
	return Span{parts[0].Where().Pos, parts[len(parts)-1].Where().End}
}
