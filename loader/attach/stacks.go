package attach

import (
	"github.com/cilium/ebpf"

	"github.com/tracepredict/tracepredict/bpf"
)

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

// SettleStack has change replace the return addresses by which the BPF programs tell a call stack from others with the same
// key. It does nothing if their table has no call stack with this key any more, or one with another ID.
func (t *Tracer) SettleStack(key *bpf.StackKey, id uint32, change func(*bpf.KnownStack)) {
	var k bpf.KnownStack
	if t.objs.Stacks.Lookup(key, &k) != nil || k.Stack != id {
		return // it has been forgotten, or another thread was faster
	}
	change(&k)
	_ = t.objs.Stacks.Update(key, &k, ebpf.UpdateExist) // if it has been forgotten meanwhile, it will come again
}
