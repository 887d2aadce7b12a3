package attach

// Stacks selects what is recorded about the call stack of an event. A call stack is recorded
// once, when it is new.
type Stacks uint8

// What can be recorded, the default first.
const (
	StacksFull   Stacks = iota // the whole call stack, from the registers and the top of the stack
	StacksCaller               // the address of the event and, at a function's entry, its caller
	StacksNone                 // nothing: events have no call stack
)

// stackBytes is the most bytes of a stack that are copied.
const stackBytes = 32 << 10

func (s Stacks) bytes() uint32 {
	if s == StacksFull {
		return stackBytes
	}
	return 0
}
