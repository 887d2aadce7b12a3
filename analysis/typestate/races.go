package typestate

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/analysis/objects"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Races finds the types with an object whose calls race: the first stage of PRETEX. Objects are those of an Analysis. Make
// it with NewRaces.
//
// Two calls race if they are of one object by different threads, no lock that the threads hold excludes one of the other,
// and no message orders them. Messages are what orders threads apart from locks and accesses of variables: forks and joins,
// notifications, semaphores, barriers and channels.
//
// # The database
//
// An object has each tuple of a thread, the locks that it held, and a call once, with the time of the last such call on
// the thread's own clock. That is enough: if a message orders the last one before a later call of another thread, it orders
// them all. An object that races needs no tuples any more. With RaceOptions.Limit tuples and objects in all, the objects
// that were not used for the longest time are evicted; a type that lost some counts as racing.
type Races struct {
	o       RaceOptions
	locks   *locks.Table // RaceOptions.Locks, or its own
	clocks  *causality.Clocks
	objects objects.Lifetimes[*raced]
	now     *event.Event // of which RaceOptions.Uses passes the calls to uses
	uses    func(protocol, call int, value uint64)
	sent    map[event.ThreadID]bool // threads that may have sent a message since their last call
	typeOf  []int                   // by protocol
	types   []raceType
	kept    int // objects that exist, and their tuples
	used    uint64
	goOn    int            // types for which Racing is true
	held    []locks.Member // for reuse
	stats   RaceStats

	pair func(earlier, later mem) // for tests: is called for pairs that race, also of an object of which one is known
}

// RaceOptions configure Races.
type RaceOptions struct {
	Protocols []Protocol
	// Uses, Process and Ended are those of Options.
	Uses    func(e *event.Event, yield func(protocol, call int, object uint64))
	Process func(event.ThreadID) uint32
	Ended   func(*event.Event) (object uint64, ok bool)
	// Locks is passed each event before Races.Event is called. With nil, Races keeps such a table.
	Locks *locks.Table
	// Limit is the number of tuples and objects that are kept; default 1<<18.
	Limit int
}

// defaultLimit is the default of RaceOptions.Limit: some 30 MB.
const defaultLimit = 1 << 18

// maxTuples is the number of tuples of an object that are kept.
const maxTuples = 1 << 10

// RaceStats counts what was compared.
type RaceStats struct {
	Calls       uint64 // of objects
	Tuples      uint64 // that were added to the database, each once
	Objects     uint64
	Racing      uint64 // objects with two calls that race
	Types       int    // of the protocols
	RacingTypes int    // with a racing object
	Evicted     uint64 // tuples
}

// raceType is the type of the objects of protocols.
type raceType struct {
	name            string
	seen            bool // there was an object
	racing, evicted bool
}

// raced is an object that exists.
type raced struct {
	typ    int
	racing bool
	tuples []mem
	used   uint64 // when it was used last
}

// mem is a tuple of the database, MEM(o, t, L, m) in the paper.
type mem struct {
	thread  event.ThreadID
	slot, n uint32 // of the last such call: it comes before what knows n of slot
	locks   []locks.Member
	call    int
}

// NewRaces returns the races of a run that has not begun.
func NewRaces(o RaceOptions) *Races {
	r := &Races{o: o, locks: o.Locks, clocks: causality.NewExclusion(), sent: map[event.ThreadID]bool{}}
	if o.Limit <= 0 {
		r.o.Limit = defaultLimit
	}
	if r.locks == nil {
		r.locks = locks.New()
	}
	r.objects = objects.NewLifetimes(o.Process, o.Ended, r.ends)
	r.uses = r.call
	for _, p := range o.Protocols {
		r.typeOf = append(r.typeOf, r.typeNumber(p.Type))
	}
	r.stats.Types = len(r.types)
	return r
}

// typeNumber returns the index in types of a type as it is written: blanks and pointers to it make no difference.
func (r *Races) typeNumber(text string) int {
	name := strings.Join(strings.Fields(strings.ReplaceAll(text, "*", " ")), " ")
	i := slices.IndexFunc(r.types, func(t raceType) bool { return t.name == name })
	if i < 0 {
		i = len(r.types)
		r.types = append(r.types, raceType{name: name})
	}
	return i
}

// Event processes the next event of the run.
func (r *Races) Event(e *event.Event) {
	if r.o.Locks == nil {
		r.locks.Event(e)
	}
	if e.Op.IsCall() {
		r.now = e
		r.o.Uses(e, r.uses)
	}
	r.objects.Event(e, len(r.o.Protocols))
	if e.Op.IsCall() || !isMessage(e) {
		return
	}
	r.clocks.Stamp(e, false)
	if e.Op == event.End {
		delete(r.sent, e.Thread)
	} else {
		r.sent[e.Thread] = true
	}
}

// isMessage reports whether an event may order threads by other means than locks and variables.
func isMessage(e *event.Event) bool {
	switch e.Kind {
	case event.KindVariable, event.KindField, event.KindMutex, event.KindRWLock, event.KindSpin, event.KindInstance:
		return false
	}
	return e.Op > event.Release
}

// call handles a call of an object by the present event.
func (r *Races) call(protocol, call int, value uint64) {
	e := r.now
	r.stats.Calls++
	id := r.objects.Identity(protocol, e.Thread, value)
	if r.o.Protocols[protocol].Calls[call].Creates {
		r.objects.Finish(id)
	}
	x := r.objects.Of(id)
	if x == nil {
		x = r.objects.Begin(id, r.begin(r.typeOf[protocol]))
	}
	o := x.Object
	r.used++
	o.used = r.used
	if !o.racing || r.pair != nil {
		r.compare(o, e, call)
	}
	if r.kept > r.o.Limit {
		r.evict()
	}
}

// begin returns a new object.
func (r *Races) begin(typ int) *raced {
	r.stats.Objects++
	r.kept++
	r.types[typ].seen = true
	return &raced{typ: typ}
}

// compare compares a call of an object with the earlier ones, and adds it to them. A thread's clock advances at its first
// call after it may have sent a message: what comes after one call until then comes after all.
func (r *Races) compare(o *raced, e *event.Event, call int) {
	sent, known := r.sent[e.Thread]
	if !known || sent {
		r.sent[e.Thread] = false
	}
	slot, clock := r.clocks.Stamp(e, !known || sent)
	now := mem{thread: e.Thread, slot: slot, n: clock.At(slot), locks: r.holds(e.Thread), call: call}
	same := -1
	for i := range o.tuples {
		x := &o.tuples[i]
		switch {
		case x.thread == now.thread:
			if x.call == now.call && slices.Equal(x.locks, now.locks) {
				same = i
			}
		case clock.At(x.slot) < x.n && disjoint(x.locks, now.locks):
			r.race(o, x, &now)
		}
	}
	switch {
	case o.racing && r.pair == nil:
		r.drop(o)
	case same >= 0:
		o.tuples[same].n = now.n
	default:
		r.add(o, now)
	}
}

// holds returns the locks that a thread holds, in their order, valid until it is called again.
func (r *Races) holds(t event.ThreadID) []locks.Member {
	r.held = r.held[:0]
	for i := range r.locks.Thread(t).Held {
		r.held = append(r.held, r.locks.Thread(t).Held[i].Member)
	}
	slices.Sort(r.held)
	return r.held
}

// disjoint reports whether no lock of one set excludes one of the other. Two readers do not exclude each other.
func disjoint(a, b []locks.Member) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Conflicts(y) {
				return false
			}
		}
	}
	return true
}

// race handles two calls of an object that race.
func (r *Races) race(o *raced, earlier, later *mem) {
	if r.pair != nil {
		r.pair(*earlier, *later)
	}
	if o.racing {
		return
	}
	o.racing = true
	r.stats.Racing++
	if t := &r.types[o.typ]; !t.racing {
		t.racing = true
		r.stats.RacingTypes++
		r.goOn++
	}
}

// add adds a tuple to an object.
func (r *Races) add(o *raced, m mem) {
	if len(o.tuples) >= maxTuples {
		n := len(o.tuples) / 2
		o.tuples = slices.Delete(o.tuples, 0, n)
		r.lost(o, n)
	}
	m.locks = slices.Clone(m.locks)
	o.tuples = append(o.tuples, m)
	r.kept++
	r.stats.Tuples++
}

// drop forgets the tuples of an object.
func (r *Races) drop(o *raced) {
	r.kept -= len(o.tuples)
	o.tuples = nil
}

// lost counts tuples that an object has lost for want of room.
func (r *Races) lost(o *raced, n int) {
	r.kept -= n
	r.stats.Evicted += uint64(n)
	if t := &r.types[o.typ]; !t.racing && !t.evicted {
		t.evicted = true
		r.goOn++
	}
}

// evict forgets the half of the objects that were not used for the longest time.
func (r *Races) evict() {
	r.objects.FinishOldest(func(o *raced) uint64 { return o.used }, func(o *raced) {
		r.lost(o, len(o.tuples))
		o.tuples = nil
	})
}

// ends forgets an object at the end of its lifetime.
func (r *Races) ends(o *raced) {
	r.drop(o)
	r.kept--
}

// Racing reports whether the type of a protocol has a racing object, or may have one among those that were evicted.
func (r *Races) Racing(protocol int) bool {
	t := &r.types[r.typeOf[protocol]]
	return t.racing || t.evicted
}

// WithoutRace returns the names of the protocols of which objects were used, and for which Racing is false.
func (r *Races) WithoutRace() (names []string) {
	for i := range r.o.Protocols {
		if r.types[r.typeOf[i]].seen && !r.Racing(i) {
			names = append(names, r.o.Protocols[i].Name)
		}
	}
	return names
}

// Stats returns what was compared so far.
func (r *Races) Stats() RaceStats { return r.stats }
