package predict

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/kept"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file finds where threads have the addresses from that they access. A thread that reads the address of a block
// is where it is only because another one has written that address: a schedule without that write is none, even if
// the write was not recorded, so that the checker does not miss it.

// leastAddress is the smallest value that may be the address of memory.
const leastAddress = 1 << 16

// mayBeAddress reports whether a value may be the address of an object.
func mayBeAddress(value uint64) bool { return value >= leastAddress && value%8 == 0 }

// addressRead is a read of a value that may be an address.
type addressRead struct {
	seq, value uint64
	// written means that a recorded write left the value, and byItself that the same thread made it.
	written, byItself bool
}

// AddressUnwritten reports whether a thread has, as far as is recorded, the address of memory from lo to hi, which it
// accesses at event seq, from a read of memory in which no recorded write had left it. What the thread has stored and
// read again itself does not count.
func (h *History) AddressUnwritten(thread event.ThreadID, seq, lo, hi uint64) bool {
	if h.evicted+h.thinned > 0 || lo >= hi {
		return false
	}
	known := h.ofLog()
	if known.addresses == nil {
		known.addresses = addressReads(h.log)
	}
	for _, r := range slices.Backward(known.addresses[thread]) {
		if r.seq < seq && r.value >= lo && r.value < hi && !r.byItself {
			return !r.written
		}
	}
	return false
}

// addressReads returns the reads of values that may be addresses, by thread.
func addressReads(log kept.Log) map[event.ThreadID][]addressRead {
	out, last := map[event.ThreadID][]addressRead{}, map[event.ObjectID]*kept.Event{}
	for i := range log {
		x := &log[i]
		if x.Op == event.Read && x.Flags&event.HasValue != 0 && x.Flags&event.Late == 0 && mayBeAddress(x.Value) {
			r := addressRead{seq: x.Seq, value: x.Value}
			if w := last[x.Object]; w != nil {
				r.written = x.Flags&event.NoSource == 0 && (w.Flags&event.HasValue == 0 || w.Value == x.Value)
				r.byItself = r.written && w.Thread == x.Thread
			}
			out[x.Thread] = append(out[x.Thread], r)
		}
		if x.Op.IsWrite() {
			last[x.Object] = x
		}
	}
	return out
}
