package ring

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"github.com/tracepredict/tracepredict/bpf"
)

// pollInterval bounds how long a record lies unread when nothing wakes
// the reader: short for a person who looks on, long for the CPU.
const pollInterval = 20 * time.Millisecond

// Handler takes what the ring buffer brings, in the order of the run. The records
// lie in the ring buffer itself: they cannot be written, and what is kept must be
// copied.
type Handler interface {
	Record(*bpf.Record)
	Call(*bpf.CallRecord)
	Stack(*bpf.StackRecord)
	// Part takes a part of a stack whose StackRecord follows.
	Part(*bpf.StackPart)
	// Idle is called when nothing is left to read for now.
	Idle()
}

// Run hands all records to h until stop is closed and nothing is left, or
// the ring buffer is closed. A record of unknown kind, or of another size, is an error.
func (r *Buffer) Run(h Handler, stop <-chan struct{}) error {
	take := func(raw []byte) error { return handle(raw, h) }
	for {
		stopping := isClosed(stop)
		var err error
		if !stopping {
			err = r.wait(pollInterval)
		}
		n := 0
		if err == nil {
			n, err = r.drain(take)
		}
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		h.Idle()
		r.serve(r.read())
		if stopping && n == 0 {
			return nil
		}
	}
}

// handle returns one record to h. Its memory is aligned as the kernel aligns it, by 8.
func handle(raw []byte, h Handler) error {
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
	default:
		return fmt.Errorf("the ring buffer brought a record of kind %d with %d bytes", kind, size)
	}
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

// visit is what somebody wants done between two records.
type visit struct {
	do    func()
	after uint64 // position in the ring buffer that must have been read
	done  chan struct{}
}

// Between calls f once on the goroutine that calls run, between two records and after
// all that were there when between was called, and returns then. It returns false if that goroutine
// has closed ended, and f was not called.
func (r *Buffer) Between(f func(), ended <-chan struct{}) bool {
	v := visit{f, r.written(), make(chan struct{})}
	select {
	case r.visits <- v:
	case <-ended:
		return false
	}
	select {
	case <-v.done:
		return true
	case <-ended:
	}
	select {
	case <-v.done: // at the last moment
		return true
	default:
		return false
	}
}

// serve lets in who waits at Between, as far as all has been read that they want; at
// is what has been.
func (r *Buffer) serve(at uint64) {
	for {
		if r.visitor == nil {
			select {
			case v := <-r.visits:
				r.visitor = &v
			default:
				return
			}
		}
		if r.visitor.after > at {
			return
		}
		v := r.visitor
		r.visitor = nil
		v.do()
		close(v.done)
	}
}
