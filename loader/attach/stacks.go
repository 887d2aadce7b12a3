package attach

// Stacks says what is recorded of where an event was. A place is recorded once, when it
// is new.
type Stacks uint8

// What can be recorded, the default first.
const (
	StacksFull   Stacks = iota // registers and the top of the stack, from which the whole call stack is found
	StacksCaller               // the place, and at a function's entry its caller
	StacksNone                 // nothing: events have no place
)

// stackBytes is how much of a stack is copied at most.
const stackBytes = 32 << 10

func (s Stacks) bytes() uint32 {
	if s == StacksFull {
		return stackBytes
	}
	return 0
}
