package event

// FuncID names a function whose calls are events: 1 for the first seen. Two
// functions of one name in two files differ, and so do versions of one function
// that give different parameters. 0 is none.
type FuncID uint32

// MaxArgs is how many parameters of a call are recorded at most.
const MaxArgs = 6

// Func is what a FuncID names.
type Func struct {
	Name   string  // demangled, without parameters: "ns::Queue<int>::put"
	Module string  // path of the program or library
	Params []Param // those that are recorded, in the order of Event.Args
	Result string  // type as in the source; "" for none, or unknown
	Makes  bool    // what it returns may be an address: Event.Object2 of a Return
	On     []On    // the patterns that ask for it, in the order given
	Life   Life
}

// Param is a recorded parameter.
type Param struct {
	Name string // as in the debug information, "this", or arg1 and so on
	Type string // as in the source; "" if unknown
	// Index counts the function's parameters in the source from 0; -1 is this.
	Index int
}

// On is a pattern that asks for a function.
type On struct {
	Pattern string // as written
	Return  bool   // it asks for Return events, else for Call events
}

// Life is what a function does to the lifetime of its instance.
type Life uint8

// The kinds of function.
const (
	Lives  Life = iota // nothing
	Begins             // a constructor
	Ends               // a destructor
)

// Wants reports whether a pattern asks for the calls, or else for the returns.
func (f *Func) Wants(returns bool) bool {
	for i := range f.On {
		if f.On[i].Return == returns {
			return true
		}
	}
	return false
}
