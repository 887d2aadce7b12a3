package ring

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/tracepredict/tracepredict/bpf"
)

// pollInterval bounds the time for which a record lies unread when nothing wakes the reader. It
// is short for a person who looks on, and long for the CPU.
const pollInterval = 20 * time.Millisecond

// Handler receives the contents of the ring buffers, in the order of the run. The records lie in
// the ring buffers themselves: they are read-only, and what is kept must be copied.
type Handler interface {
	Record(*bpf.Record)
	Call(*bpf.CallRecord)
	Stack(*bpf.StackRecord)
	// Part receives a part of a copied stack. The StackRecord follows.
	Part(*bpf.StackPart)
	// Scope receives the record of a synchronising action, with the states of threads in the region that it ends.
	Scope(*bpf.ScopeRecord, []bpf.ScopeState)
	// Idle is called when nothing is left to read at the moment.
	Idle()
}

// Run passes all records to h until stop is closed and nothing is left, or until the ring buffers
// are closed. It returns an error for a record of unknown kind or of an unexpected size.
func (r *Buffer) Run(h Handler, stop <-chan struct{}) error {
	handle := func(raw []byte) error { return dispatch(raw, h) }
	for {
		stopping := isClosed(stop)
		var err error
		if !stopping {
			err = r.wait(pollInterval)
		}
		n := 0
		if err == nil {
			n, err = r.drain(handle)
		}
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		h.Idle()
		r.serveBetween()
		if stopping && n == 0 && !r.unsettled() {
			return nil
		}
	}
}

// dispatch passes one record to h. The kernel aligns records by 8 bytes.
func dispatch(raw []byte, h Handler) error {
	if len(raw) == 0 {
		return errors.New("the ring buffer brought an empty record")
	}
	at := unsafe.Pointer(&raw[0])
	switch kind, size := raw[0], uintptr(len(raw)); {
	case kind == bpf.RecordEvent && size == unsafe.Sizeof(bpf.Record{}):
		h.Record((*bpf.Record)(at))
	case kind == bpf.RecordCall && size == unsafe.Sizeof(bpf.CallRecord{}):
		h.Call((*bpf.CallRecord)(at))
	case kind == bpf.RecordStack && size == unsafe.Sizeof(bpf.StackRecord{}):
		h.Stack((*bpf.StackRecord)(at))
	case kind == bpf.RecordStackPart && size == unsafe.Sizeof(bpf.StackPart{}):
		h.Part((*bpf.StackPart)(at))
	case kind == bpf.RecordScope && size >= unsafe.Sizeof(bpf.ScopeRecord{}):
		return dispatchScope(raw, h)
	default:
		return fmt.Errorf("the ring buffer brought a record of kind %d with the length %d", kind, size)
	}
	return nil
}

// dispatchScope passes the record of a synchronising action to h. It has room for more states than it has.
func dispatchScope(raw []byte, h Handler) error {
	r := (*bpf.ScopeRecord)(unsafe.Pointer(&raw[0]))
	room := (uintptr(len(raw)) - unsafe.Sizeof(*r)) / unsafe.Sizeof(bpf.ScopeState{})
	if uintptr(r.Count) > room {
		return fmt.Errorf("the ring buffer brought a record of a scope whose count, %d, is more than its room, %d", r.Count, room)
	}
	var states []bpf.ScopeState
	if r.Count > 0 {
		states = unsafe.Slice((*bpf.ScopeState)(unsafe.Pointer(&raw[unsafe.Sizeof(*r)])), r.Count)
	}
	h.Scope(r, states)
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// betweenRequest is a call of Between: a function to call between two records.
type betweenRequest struct {
	f     func()
	after []uint64 // position in each part up to which all must have been read before
	done  chan struct{}
}

// Between calls f once on the goroutine that calls Run, between two records and after all those
// that were in the ring buffer when Between was called. It returns true after f has returned,
// and false, without having called f, if that goroutine has closed ended.
func (r *Buffer) Between(f func(), ended <-chan struct{}) bool {
	v := betweenRequest{f, r.producedUpTo(), make(chan struct{})}
	select {
	case r.requests <- v:
	case <-ended:
		return false
	}
	select {
	case <-v.done:
		return true
	case <-ended:
	}
	select {
	case <-v.done: // f was called just before the goroutine ended
		return true
	default:
		return false
	}
}

// serveBetween makes the calls of Between that wait for what has been read.
func (r *Buffer) serveBetween() {
	for {
		if r.pending == nil {
			select {
			case v := <-r.requests:
				r.pending = &v
			default:
				return
			}
		}
		if !r.readUpTo(r.pending.after) {
			return
		}
		v := r.pending
		r.pending = nil
		v.f()
		close(v.done)
	}
}
