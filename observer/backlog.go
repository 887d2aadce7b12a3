package observer

import (
	"slices"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// backlog has the records that are kept back until a load among them has its store; see synchronising.go.
type backlog struct {
	*core
	handle   func(*bpf.Record, *[event.MaxArgs]uint64) // turns a record into events
	records  []postponedRecord                         // the first is a load whose store is missing
	missing  missingStore
	mustWait bool // set while a record is handled: it must be kept back
	noWait   bool // the current record must not be kept back
}

// keep adds the first record that must wait.
func (b *backlog) keep(r *bpf.Record, args *[event.MaxArgs]uint64) {
	b.records = append(b.records, newPostponedRecord(r, args))
}

// missingStore describes the store that the first waiting record needs.
type missingStore struct {
	object uint64 // address of the variable
	value  uint64 // value that the store wrote
	tgid   uint32
	tid    uint32 // thread of the load
	time   uint64 // for how long the load waits, in ns
}

// await makes a load wait for the store that it saw, for a time in ns.
func (b *backlog) await(r *bpf.Record, read optional, time uint64) {
	b.missing = missingStore{object: r.Object, value: read.value, tgid: r.Tgid, tid: r.Tid, time: time}
	b.mustWait = true
}

// postponedRecord is a record that was kept back, with the arguments of a call.
type postponedRecord struct {
	bpf.Record
	args   [event.MaxArgs]uint64
	called bool // args is valid
}

func newPostponedRecord(r *bpf.Record, args *[event.MaxArgs]uint64) postponedRecord {
	p := postponedRecord{Record: *r, called: args != nil}
	if args != nil {
		p.args = *args
	}
	return p
}

// add adds a record to those that were kept back, and handles those that need not
// wait any longer.
func (b *backlog) add(r *bpf.Record, args *[event.MaxArgs]uint64) {
	b.records = append(b.records, newPostponedRecord(r, args))
	first := &b.records[0]
	if k := len(b.records) - 1; b.explains(k) || b.repeats(k) || r.Time > first.Time+b.missing.time || len(b.records) >= maxWaitRecords {
		b.resume(r.Time)
	}
}

// explains reports whether waiting record k is the store that the first one needs.
func (b *backlog) explains(k int) bool {
	r := &b.records[k].Record
	if r.Object != b.missing.object || r.Tgid != b.missing.tgid || r.Tid == b.missing.tid || r.Time > b.records[0].Time+b.missing.time {
		return false
	}
	op := bpf.Op(r.Op)
	if op != bpf.OpWrite && op != bpf.OpUpdate {
		return false
	}
	info := b.site(r)
	s := info.Sync
	if s == nil || info.Pointer && r.Flags&bpf.RecOrders == 0 {
		return false
	}
	_, wrote := s.values(r)
	return wrote.known && wrote.value == b.missing.value &&
		!slices.ContainsFunc(b.records[:k], func(x postponedRecord) bool { return x.Tid == r.Tid })
}

// repeats reports whether waiting record k is a further load of the variable by the thread of the first one, as
// of a loop that waits for a value.
func (b *backlog) repeats(k int) bool {
	r := &b.records[k].Record
	if k == 0 || r.Object != b.missing.object || r.Tgid != b.missing.tgid || r.Tid != b.missing.tid || bpf.Op(r.Op) != bpf.OpRead {
		return false
	}
	s := b.site(r).Sync
	return s != nil && r.Flags&bpf.RecValue != 0
}

// readsAgain reports whether the first waiting record is this one, and the next load of the variable by its
// thread, which waits too, saw a value. If that is the value of the last store, the first load came before all stores.
func (b *backlog) readsAgain(r *bpf.Record, value uint64) bool {
	if len(b.records) < 2 || r != &b.records[0].Record || b.missing.object != r.Object || b.missing.tid != r.Tid {
		return false
	}
	for k := range b.records {
		if b.repeats(k) {
			next := &b.records[k].Record
			read, _ := b.site(next).Sync.values(next)
			return read.value == value
		}
	}
	return false
}

// resume handles the waiting records, stores before the loads that saw them, until one must
// wait for a store that has not arrived. All records up to a time have been added, in ns of CLOCK_MONOTONIC.
func (b *backlog) resume(now uint64) {
	moves := 0
	for len(b.records) > 0 {
		if !b.try(false) {
			k := b.explanation()
			if k > 0 && moves < len(b.records) {
				b.moveToFront(k)
				moves++
				continue
			}
			if k == 0 && now <= b.records[0].Time+b.missing.time && len(b.records) < maxWaitRecords {
				return
			}
			b.try(true)
		}
		moves = 0
		b.records = b.records[1:]
	}
}

// try handles the first waiting record and reports whether it succeeded: false if the record
// must still wait. With noWait, it is handled even if its store has not arrived.
func (b *backlog) try(noWait bool) bool {
	b.noWait, b.mustWait = noWait, false
	p := &b.records[0]
	if p.called {
		b.handle(&p.Record, &p.args)
	} else {
		b.handle(&p.Record, nil)
	}
	b.noWait = false
	return !b.mustWait
}

// explanation returns the index in records of the store that the first record needs, 0 if
// it has not arrived.
func (b *backlog) explanation() int {
	for k := 1; k < len(b.records); k++ {
		if b.explains(k) {
			return k
		}
	}
	return 0
}

// moveToFront moves waiting record k to the front: it happened before the first one.
func (b *backlog) moveToFront(k int) {
	b.stats.Swapped++
	r := b.records[k]
	r.Time = min(r.Time, b.records[0].Time)
	copy(b.records[1:k+1], b.records[:k])
	b.records[0] = r
}
