package event

import (
	"fmt"
	"strings"
)

// FuncID identifies a function whose calls are events: 1 for the first seen; 0 is none.
// Functions of the same name in two files have two identifiers, and so have versions of a
// function whose recorded parameters differ.
type FuncID uint32

// MaxArgs is the largest number of parameters of a call that are recorded.
const MaxArgs = 6

// Func describes the function that a FuncID identifies.
type Func struct {
	Name           string    // demangled, without parameters: "ns::Queue<int>::put"
	Module         string    // path of the program or library
	Params         []Param   // those that are recorded, in the order of Event.Args
	Result         string    // type as in the source; "" for none, or unknown
	ReturnsAddress bool      // its result may be an address, which is then Event.Object2 of a Return
	Patterns       []Pattern // the patterns that match it, in the order given
	Life           Life
}

// Param is a recorded parameter.
type Param struct {
	Name string // as in the debug information, "this", or arg1 and so on
	Type string // as in the source; "" if unknown
	// Index is the position of the parameter in the source, from 0; -1 is this.
	Index int
	// Stored: it is what the function had stored, when it returned, at the address that the parameter was at the entry.
	// Element is which element of an array there, from 0 to 255. These parameters come after the others, and calls have
	// none of them.
	Stored  bool
	Element int
}

// Entered returns how many of the parameters are recorded at the entry.
func (f *Func) Entered() int {
	n := 0
	for n < len(f.Params) && !f.Params[n].Stored {
		n++
	}
	return n
}

// Key returns the name of the i-th recorded parameter, as patterns write it: "q", "*db", "fd[1]"; "" if it has none.
func (f *Func) Key(i int) string {
	switch {
	case i >= len(f.Params) || f.Params[i].Name == "":
		return ""
	case f.Params[i].Element > 0:
		return fmt.Sprintf("%s[%d]", f.Params[i].Name, f.Params[i].Element)
	case f.Params[i].Stored:
		return "*" + f.Params[i].Name
	}
	return f.Params[i].Name
}

// Pattern is a pattern of --on that matches a function.
type Pattern struct {
	Pattern string // as written
	Return  bool   // it requests Return events, else Call events
}

// Ends reports whether the pattern requests a Return event, by its flags: one that is Unwound only if the pattern asks for
// whatever ends a call, or leaves lines.
func (p *Pattern) Ends(of Flags) bool {
	return p.Return && (of&Unwound == 0 || strings.HasPrefix(p.Pattern, "leave"))
}

// Life is the effect of a function on the lifetime of its instance.
type Life uint8

// The effects.
const (
	LifeNone  Life = iota // nothing
	LifeBegin             // a constructor
	LifeEnd               // a destructor
)

// Wants reports whether a pattern requests events of the function's returns, or of its calls.
func (f *Func) Wants(returns bool) bool {
	for i := range f.Patterns {
		if f.Patterns[i].Return == returns {
			return true
		}
	}
	return false
}
