package order

import "github.com/tracepredict/tracepredict/observer/event"

// Use is how an event uses the object that it acts on, in an order that keeps the critical sections of each lock as in the
// run: two uses are ordered if one of them writes.
type Use uint8

// The uses.
const (
	UseRead Use = iota
	UseWrite
	UseMatched // a read, with further edges from a Matcher
	UseNone    // it repeats an earlier acquire, or did not happen
)

// UseOf returns how an event uses an object; exclusive reports of a lock that its last acquire was exclusive.
func (o *Object) UseOf(e *event.Event, exclusive bool) Use {
	switch e.Op {
	case event.Read, event.AcquireRead, event.Wait:
		return UseRead
	case event.Write, event.Update, event.Acquire, event.Signal, event.Broadcast,
		event.Send, event.Sent, event.Receive, event.Receiving, event.ReceiveFailed:
		return UseWrite
	case event.Release:
		return either(exclusive, UseWrite, UseRead)
	case event.AcquireFailed:
		return either(exclusive, UseRead, UseWrite)
	case event.Wake:
		return either(e.Flags&event.TimedOut != 0, UseNone, UseWrite)
	case event.SemPost, event.SemWait, event.SemFailed:
		return either(o.Counted(), UseMatched, UseWrite)
	case event.Holds, event.Blocked:
		return UseNone
	case event.Init, event.Destroy:
		return either(e.Flags&event.Inferred != 0, UseNone, UseWrite)
	}
	return UseMatched
}

// either returns a if the condition holds, else b.
func either(cond bool, a, b Use) Use {
	if cond {
		return a
	}
	return b
}
