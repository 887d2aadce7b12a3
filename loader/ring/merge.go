package ring

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
)

// merger passes records on in the order of their numbers. A BPF program draws a number only for a record for which it has
// reserved room, so that each number from 0 on is in exactly one record. So the reader knows when one is missing, whichever
// ring buffer that will come from.
type merger struct {
	next    uint64 // the number of the record that is to be passed on next
	waiting int    // places that are taken
	// places are the records that wait for their turn, by their number modulo the length.
	places []place
	// missing is since when all is there but the next one; zero: it is not.
	missing time.Time
	late    uint64
}

// place is where a record is; zero: there is none.
type place struct {
	at   *byte
	size int
}

const (
	// window is how many numbers there are places for, a power of two. Records further ahead stay in their ring buffers.
	window = 1 << 14
	// patience is how long the reader waits for a record whose thread was preempted while it wrote it. It is short beside
	// the second in which a hang is told, and long beside the time that a thread waits for a processor.
	patience = 50 * time.Millisecond
	// spins is the number of looks for a record that is being written, after which the reader
	// yields the processor: the record's writer may need it.
	spins = 100
)

func newMerger() merger { return merger{places: make([]place, window)} }

// isBefore reports whether a number is before another one; they are less than half of all numbers apart.
func isBefore(n, other uint64) bool { return int64(n-other) < 0 }

// place puts a record among those that wait for their turn. It returns false if its number is too far ahead for that. If the
// record is late, so that others behind it were passed on already, handle gets a hole instead.
func (o *merger) place(raw []byte, handle func([]byte) error) (placed bool, err error) {
	n := numberOf(raw)
	switch {
	case isBefore(n, o.next):
		o.late++
		return true, handle(holeOf(raw))
	case n-o.next >= window:
		return false, nil
	}
	o.places[n%window] = place{&raw[0], len(raw)}
	o.waiting++
	return true, nil
}

// holeOf returns the record that says that one of a thread is missing.
func holeOf(raw []byte) []byte {
	of := (*bpf.StackRecord)(unsafe.Pointer(&raw[0])) // all begin alike
	hole := &bpf.Record{Kind: bpf.RecordEvent, Op: uint8(bpf.OpHole), Tid: of.Tid, Tgid: of.Tgid, Value: 1}
	return unsafe.Slice((*byte)(unsafe.Pointer(hole)), unsafe.Sizeof(*hole))
}

// pass calls handle with the records whose turn has come.
func (o *merger) pass(handle func([]byte) error) (n int, err error) {
	for {
		p := &o.places[o.next%window]
		if p.at == nil {
			return n, nil
		}
		n++
		if err := handle(unsafe.Slice(p.at, p.size)); err != nil {
			return n, err
		}
		*p = place{}
		o.next++
		o.waiting--
		o.missing = time.Time{}
	}
}

// wait is called when a record was looked at that cannot be passed on, the idle-th time in a row. It returns false if it
// is not waited for any longer. If others wait for it, these have their turns then.
func (o *merger) wait(parts []*part, idle int) bool {
	if idle%spins != 0 {
		return true
	}
	switch now := time.Now(); {
	case o.missing.IsZero():
		o.missing = now
	case now.Sub(o.missing) > patience:
		o.missing = time.Time{}
		return o.skip(parts)
	}
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	return true
}

// skip goes on with the first record that is there. It returns false if there is none.
func (o *merger) skip(parts []*part) bool {
	first, found := o.next, false
	if o.waiting > 0 {
		for first, found = o.next, true; o.places[first%window].at == nil; first++ {
		}
	}
	for _, p := range parts {
		for _, at := range p.placeless {
			if _, state, raw, err := p.record(at, p.scanned); err == nil && state == whole && (!found || isBefore(numberOf(raw), first)) {
				first, found = numberOf(raw), true
			}
		}
	}
	o.next = first
	return found
}
