package event

// Detour is the question whether a thread that reads other values than in the run still makes the calls that it made
// next.
type Detour struct {
	From  StackID     `json:"from"`  // of the last call of the thread before it reads
	Reads []ReadValue `json:"reads"` // what it reads until the first call of To, in order
	To    []StackID   `json:"to"`    // of its next calls, in order
	// Changed means that it may have read other values before.
	Changed bool `json:"changed,omitempty"`
}

// ReadValue is what a thread reads of a variable.
type ReadValue struct {
	Stack  StackID  `json:"stack"`
	Object ObjectID `json:"object"`
	Value  uint64   `json:"value"`           // in the run
	Other  uint64   `json:"other,omitempty"` // in the question; the same if it is not about this read
	// Initially means that in the question it has the value which the variable has when the program begins; Other is 0.
	Initially bool `json:"initially,omitempty"`
}

// Differs reports whether the question is about another value than that of the run.
func (r ReadValue) Differs() bool { return r.Initially || r.Other != r.Value }

// Course is the answer to a Detour.
type Course uint8

// The courses.
const (
	CourseUnclear   Course = iota // the code is not understood
	CourseSame                    // the thread may do the same
	CourseElsewhere               // it certainly does something else
)
