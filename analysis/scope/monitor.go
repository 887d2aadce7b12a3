package scope

import (
	"errors"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Monitor monitors a scope on one run. Make it with New. It is not safe for concurrent use.
type Monitor struct {
	o       Options
	s       *Scope
	events  []uint64 // by type: the declared events of its local properties
	all     uint64   // all these events
	clocks  stamps
	threads map[event.ThreadID]*thread
	latest  *thread   // the thread of the last event
	untyped []*thread // those that began in the region; some of them may have types by now
	touched []*thread
	ended   []*thread
	spare   []*thread
	counts  Counts
	checks  []check
	state   State
	region  uint64
	// Of an inner scope: the region of the outer one, and the number of its own regions before that.
	outer, began uint64
	verdicts     []monitor.Verdict // for Options.Judged, reused
	// The last synchronising action, and its position.
	last      finding.Step
	lastAt    position
	recent    []position       // of the last maxAhead+1 of them, with History
	unordered *[2]finding.Step // synchronising actions that are concurrent; nil: there are none
	lost      bool             // events were lost
	stopped   error            // why the present region and those after it are not judged; nil: they are
	ahead     ahead
	stats     Stats
	found     []*finding.Finding
}

// thread is a thread of the present region.
type thread struct {
	id     event.ThreadID
	types  []bool // by Scope.Types; with History never changed in place
	events uint64 // the declared events of its local properties
	locals []slot // by Scope.Locals
	// Of its events in the region: their number, how many do not come after the synchronising action before it, and the
	// position of the last one.
	count, early uint64
	last         position
	born         uint64 // the region in which it was first seen
	typed, ended bool
	begins       bool   // its Begin was seen
	in           bool   // touched has it
	gained       uint64 // one more than the last region in which a name changed its types; 0: none did
	// With History: the types that its present name makes it one of, as its last Begin or Named told, and the numbers of the
	// positions of those Named that count in the present region.
	has    []bool
	naming []uint32
}

// slot is the state of a local property on a thread: its slot in the scope channel.
type slot struct {
	at      monitor.Pair
	verdict Verdict
	written bool   // it had an event in the region
	region  uint64 // of a property across scopes: the region of its last event
}

// check is the state of a check.
type check struct {
	at        monitor.Pair
	verdict   monitor.Verdict
	predicted bool // another run violates it
	found     bool // a region of the outer scope violated it before
	// Of an inner scope: the regions of the outer one by its verdict.
	tally [3]uint64
}

// State is the state of a scope at the end of a region.
type State struct {
	Region     uint64 // from 0
	Atoms      []bool // by Scope.Atoms
	Verdicts   []monitor.Verdict
	Concurrent uint64 // events of the region that are concurrent with a synchronising action next to it
	Counts     *Counts

	m *Monitor
}

// Local returns the verdict of a local property on a thread, and whether the thread had an event of it in the region.
func (s *State) Local(local int, id event.ThreadID) (v Verdict, written bool) {
	if t := s.m.threads[id]; t != nil {
		return t.locals[local].verdict, t.locals[local].written
	}
	return NotApplicable, false
}

// New returns the monitor of a scope on a run that has not begun.
func New(o Options) *Monitor {
	s := o.Scope
	m := &Monitor{o: o, s: s, clocks: stamps{causality.New()}, threads: map[event.ThreadID]*thread{}, checks: make([]check, len(s.Checks))}
	m.counts = Counts{make([][verdicts]uint64, len(s.Locals)), make([]uint64, len(s.Types))}
	m.state = State{Atoms: make([]bool, len(s.Atoms)), Verdicts: make([]monitor.Verdict, len(s.Checks)), Counts: &m.counts, m: m}
	m.events = make([]uint64, len(s.Types))
	for i := range s.Locals {
		for _, e := range s.Locals[i].Events {
			m.events[s.Locals[i].Type] |= e
			m.all |= e
		}
	}
	for i := range s.Checks {
		f := s.Checks[i].Formula
		m.checks[i] = check{at: f.Start(), verdict: f.Verdict(f.Start())}
	}
	return m
}

// Event processes the next event of the run, which is each declared event whose bit is set in declared. It allocates nothing
// for threads and objects that it has seen before.
func (m *Monitor) Event(e *event.Event, declared uint64) {
	if m.unordered != nil || m.stopped != nil {
		return
	}
	t := m.thread(e.Thread)
	if !t.typed && (declared&m.all != 0 || e.Op == event.End) {
		m.setTypes(t)
	}
	before := t.types
	gains := e.Op == event.Named && m.named(t, e.Peer == e.Thread)
	sync, local := declared&(m.s.Sync|m.s.Outer) != 0, declared&t.events != 0
	if e.Op.IsCall() && !sync && !local {
		return
	}
	m.lost = m.lost || e.Op == event.Hole || e.Flags&event.AfterHole != 0
	begins := e.Op == event.Begin && m.o.History != nil
	if begins {
		t.begins, t.has = true, m.typesOf(t)
	}
	number, clock := m.clocks.of(e, sync || local || begins || gains)
	switch {
	case sync:
		m.action(e, declared, number, clock)
	case local && m.o.Outside != nil:
		m.stopped = errors.New("an event of a local property came as a record")
	case local:
		m.local(e.Seq, t, declared, number, clock)
	case gains:
		m.touch(t)
		t.naming = append(t.naming, number.number)
		m.keep(e.Seq, t, before, 0, number, clock)
	case begins:
		m.keep(e.Seq, t, before, 0, number, clock)
	}
	if e.Op == event.End && !t.ended {
		t.ended = true
		m.ended = append(m.ended, t)
	}
}

// position is the slot of an event and its number there.
type position struct{ slot, number uint32 }

// before reports whether the event at a position comes before, or is, the one with a clock.
func (p position) before(clock causality.Clock) bool { return clock.At(p.slot) >= p.number }

// stamps are the clocks of the relevant events, without the order of plain accesses.
type stamps struct{ *causality.Clocks }

// of returns the clock after an event, and the position of one that is relevant.
func (s stamps) of(e *event.Event, relevant bool) (position, causality.Clock) {
	if orders(e) {
		at, clock := s.Stamp(e, relevant)
		return position{at, clock.At(at)}, clock
	}
	if !relevant {
		return position{}, nil
	}
	only := event.Event{Thread: e.Thread, Op: event.Call}
	at, clock := s.Stamp(&only, true)
	return position{at, clock.At(at)}, clock
}

// orders reports whether an event may order threads. Plain accesses do not, and calls do not.
func orders(e *event.Event) bool {
	return !e.Op.IsCall() && (!e.Op.IsAccess() || e.Flags&(event.Atomic|event.PerhapsAtomic) != 0)
}

// thread returns the state of a thread, and makes it if there is none.
func (m *Monitor) thread(id event.ThreadID) *thread {
	if m.latest != nil && m.latest.id == id {
		return m.latest
	}
	t := m.threads[id]
	if t == nil {
		t = m.add(id)
	}
	m.latest = t
	return t
}

// add adds a thread to the present region.
func (m *Monitor) add(id event.ThreadID) *thread {
	t := &thread{types: make([]bool, len(m.s.Types)), locals: make([]slot, len(m.s.Locals))}
	if n := len(m.spare); n > 0 && m.o.History == nil { // What is kept of a region names its threads.
		t, m.spare = m.spare[n-1], m.spare[:n-1]
	}
	*t = thread{id: id, types: t.types, locals: t.locals, born: m.region}
	m.threads[id] = t
	m.untyped = append(m.untyped, t)
	return t
}

// setTypes asks for the types of a thread, and counts it. That is at its first event of a local property or when the region
// ends, and not at its first event, when it may not have its name yet.
func (m *Monitor) setTypes(t *thread) {
	t.typed = true
	if m.o.History != nil { // What is kept may have the slice.
		t.types = make([]bool, len(m.s.Types))
	}
	for i := range m.s.Types {
		if t.types[i] = m.s.Types[i].Has(t.id); t.types[i] {
			m.counts.sizes[i]++
			t.events |= m.events[i]
		}
	}
	for i := range m.s.Locals {
		l := &m.s.Locals[i]
		t.locals[i] = slot{at: l.Formula.Start(), verdict: m.initial(l, t)}
		m.counts.verdicts[i][t.locals[i].verdict]++
	}
}

// typesOf returns the types that the present name of a thread makes it one of.
func (m *Monitor) typesOf(t *thread) []bool {
	has := make([]bool, len(m.s.Types))
	for i := range m.s.Types {
		has[i] = m.s.Types[i].Has(t.id)
	}
	return has
}

// named handles that a thread has another name: from here on it has the types of threads of that name too. It reports whether
// this event is to be kept for other runs, as it is if the thread named itself and has other types by that. If another thread
// may have given the name, nothing tells what must come before this event, and other runs about the region are not looked at.
func (m *Monitor) named(t *thread, itself bool) (keep bool) {
	has := m.typesOf(t)
	changes := !t.typed && !slices.Equal(has, t.has)
	for i, is := range has {
		changes = changes || t.typed && is && !t.types[i]
	}
	if changes {
		t.gained = m.region + 1
	}
	if m.o.History != nil && changes {
		keep, t.has = itself, has
		m.ahead.full = m.ahead.full || !itself
	}
	if !t.typed || !changes {
		return keep
	}
	t.types = slices.Clone(t.types)
	for i, is := range has {
		if t.types[i] || !is {
			continue
		}
		t.types[i] = true
		m.counts.sizes[i]++
		t.events |= m.events[i]
		for j := range m.s.Locals {
			if l := &m.s.Locals[j]; l.Type == i {
				m.set(j, &t.locals[j], m.initial(l, t))
			}
		}
	}
	return keep
}

// touch notes that a thread has events in the region.
func (m *Monitor) touch(t *thread) {
	if !t.in {
		t.in = true
		m.touched = append(m.touched, t)
	}
}

// initial returns the verdict of a local property on a thread without events in the region.
func (m *Monitor) initial(l *Local, t *thread) Verdict {
	if l.Across || !t.types[l.Type] {
		return NotApplicable
	}
	return Verdict(l.Formula.Verdict(l.Formula.Start()))
}

// local processes an event of local properties.
func (m *Monitor) local(seq uint64, t *thread, declared uint64, at position, clock causality.Clock) {
	for i := range m.s.Locals {
		l := &m.s.Locals[i]
		if !t.types[l.Type] {
			continue
		}
		if letter := l.letterOf(declared); letter != 0 {
			m.step(i, t, letter)
		}
	}
	m.touch(t)
	t.count++
	t.last = at
	if m.escapes(clock) {
		t.early++
	}
	m.keep(seq, t, t.types, declared, at, clock)
}

// step lets a local property read an event of a thread.
func (m *Monitor) step(i int, t *thread, letter monitor.Letter) {
	l, s := &m.s.Locals[i], &t.locals[i]
	if l.Across {
		l.sleep(s, m.region-s.region)
		s.region = m.region
	}
	s.at, s.written = l.Formula.Next(s.at, letter), true
	m.set(i, s, Verdict(l.Formula.Verdict(s.at)))
}

// sleep lets a property across scopes read a number of synchronising actions.
func (l *Local) sleep(s *slot, actions uint64) {
	sync := monitor.Letter(1) << len(l.Events)
	for ; actions > 0; actions-- {
		next := l.Formula.Next(s.at, sync)
		if next == s.at {
			return
		}
		s.at = next
	}
}

// set sets the verdict of a local property on a thread.
func (m *Monitor) set(i int, s *slot, v Verdict) {
	m.counts.verdicts[i][s.verdict]--
	s.verdict = v
	m.counts.verdicts[i][v]++
}

// escapes reports whether an event with a clock does not come after the last synchronising action.
func (m *Monitor) escapes(clock causality.Clock) bool {
	return m.stats.Actions > 0 && !m.lastAt.before(clock)
}

// action processes a synchronising action.
func (m *Monitor) action(e *event.Event, declared uint64, at position, clock causality.Clock) {
	step := finding.StepOf(e)
	if m.escapes(clock) {
		m.unordered = &[2]finding.Step{m.last, step}
		m.found, m.ahead = nil, ahead{}
		return
	}
	results, ok := m.ask(Action{e.Time, e.Thread})
	if !ok {
		return
	}
	m.close(&step, clock, results)
	m.stats.Actions++
	if declared&m.s.Outer != 0 {
		m.restart()
	} else {
		m.stats.Own++
	}
	m.last, m.lastAt = step, at
	if m.o.History != nil {
		if len(m.recent) > maxAhead {
			m.recent = slices.Delete(m.recent, 0, 1)
		}
		m.recent = append(m.recent, at)
	}
}

// restart ends a region of the outer scope: the checks of an inner one begin anew.
func (m *Monitor) restart() {
	m.verdicts = m.verdicts[:0]
	for i := range m.checks {
		c, f := &m.checks[i], m.s.Checks[i].Formula
		m.verdicts = append(m.verdicts, c.verdict)
		c.tally[c.verdict]++
		c.found = c.found || c.verdict == monitor.False
		c.at = f.Start()
		c.verdict = f.Verdict(c.at)
	}
	if m.o.Judged != nil {
		m.o.Judged(m.verdicts)
	}
	m.outer++
	m.began = m.region
}

// close ends the present region: the checks read its scope state, and local properties begin anew. The step is the
// synchronising action that ends it, and clock that action's; both are nil at the end of the run. Results are nil if
// the events of local properties are events of the run.
func (m *Monitor) close(next *finding.Step, clock causality.Clock, results *Results) {
	for _, t := range m.untyped {
		if !t.typed {
			m.setTypes(t)
		}
	}
	m.untyped = m.untyped[:0]
	if results != nil {
		m.apply(results)
	}
	m.state.Region, m.state.Concurrent = m.region, m.concurrent(clock)
	letter := m.letter(&m.counts, m.state.Atoms)
	var before []check
	if m.o.History != nil {
		before = slices.Clone(m.checks)
	}
	for i := range m.checks {
		c, f := &m.checks[i], m.s.Checks[i].Formula
		before := c.verdict
		c.at = f.Next(c.at, letter)
		c.verdict = f.Verdict(c.at)
		if m.state.Verdicts[i] = c.verdict; c.verdict == monitor.False && before != monitor.False && !m.checks[i].found && !m.s.Counted {
			m.violation(i, next)
		}
	}
	if m.o.Closed != nil {
		m.o.Closed(&m.state)
	}
	m.look(next, clock, before)
	m.reset()
	m.region++
}

// letter sets the atoms to what they are for counts, and returns them as a letter.
func (m *Monitor) letter(c *Counts, atoms []bool) (letter monitor.Letter) {
	for i := range m.s.Atoms {
		if atoms[i] = m.s.Atoms[i].Holds(c); atoms[i] {
			letter |= 1 << i
		}
	}
	return letter
}

// concurrent counts the events of the region that are concurrent with a synchronising action next to it.
func (m *Monitor) concurrent(clock causality.Clock) (all uint64) {
	for _, t := range m.touched {
		late := uint64(0) // Those of a thread in one region, and what names it between them, have successive numbers.
		if known := clock.At(t.last.slot); clock != nil && t.count > 0 && known < t.last.number {
			late = min(t.count, uint64(t.last.number-known)-t.namings(known))
		}
		all += min(t.count, t.early+late)
		m.stats.Events += t.count
	}
	m.stats.Concurrent += all
	return all
}

// namings returns how many of the Named that count lie between a number and the last event of the thread in the region.
func (t *thread) namings(after uint32) (n uint64) {
	for _, x := range t.naming {
		if x > after && x < t.last.number {
			n++
		}
	}
	return n
}

// reset prepares the local properties for the next region, and forgets the threads that have ended.
func (m *Monitor) reset() {
	for _, t := range m.touched {
		t.count, t.early, t.in, t.naming = 0, 0, false, t.naming[:0]
		for i := range m.s.Locals {
			l, s := &m.s.Locals[i], &t.locals[i]
			m.set(i, s, m.initial(l, t))
			s.written = false
			if !l.Across {
				s.at = l.Formula.Start()
			}
		}
	}
	m.touched = m.touched[:0]
	for _, t := range m.ended {
		for i := range t.locals {
			m.counts.verdicts[i][t.locals[i].verdict]--
		}
		for i, is := range t.types {
			if is {
				m.counts.sizes[i]--
			}
		}
		delete(m.threads, t.id)
		m.spare = append(m.spare, t)
	}
	if len(m.ended) > 0 {
		m.latest = nil
	}
	m.ended = m.ended[:0]
}

// Finish ends the last region and returns the findings, in the order in which they were made. A scope without synchronising
// actions, or with some that are concurrent, has none; one that is Stopped has those of the regions before.
func (m *Monitor) Finish() []finding.Finding {
	if m.unordered != nil || m.stats.Actions == 0 {
		return nil
	}
	if m.stopped == nil {
		if results, ok := m.ask(Action{}); ok {
			m.close(nil, nil, results)
		}
	}
	if m.s.Outer != 0 {
		m.restart()
	}
	out := make([]finding.Finding, 0, len(m.found))
	for _, f := range m.found {
		out = append(out, *f)
	}
	for _, f := range m.ahead.found {
		if !slices.ContainsFunc(m.found, func(o *finding.Finding) bool { return o.Scope.Check == f.Scope.Check }) {
			out = append(out, *f)
		}
	}
	return out
}

// Unordered returns two synchronising actions that are concurrent, the first two that the run shows; ok is false if it shows
// none.
func (m *Monitor) Unordered() (pair [2]finding.Step, ok bool) {
	if m.unordered == nil {
		return pair, false
	}
	return *m.unordered, true
}

// Lost reports whether events were lost, so that synchronising actions that seem concurrent may have been ordered.
func (m *Monitor) Lost() bool { return m.lost }

// Stats returns figures of the run. The last region is counted once Finish was called.
func (m *Monitor) Stats() Stats { return m.stats }

// ClockMemory returns the memory that the clocks need at most, in bytes.
func (m *Monitor) ClockMemory() uint64 { return m.clocks.Memory() }

// Tally returns, of a check of an inner scope, the number of regions of the outer scope in which it has each verdict. The last
// region is counted once Finish was called.
func (m *Monitor) Tally(i int) [3]uint64 { return m.checks[i].tally }

// Verdict returns the verdict of a check on the regions that have ended.
func (m *Monitor) Verdict(i int) monitor.Verdict { return m.checks[i].verdict }

// Remember adds the threads and objects to n that findings may still name.
func (m *Monitor) Remember(n *event.Names) {
	for _, f := range slices.Concat(m.found, m.ahead.found) {
		f.Remember(n)
	}
	if m.stats.Actions > 0 {
		m.last.Remember(n)
	}
	if m.unordered != nil {
		m.unordered[1].Remember(n)
	}
	for id := range m.threads {
		n.AddThread(id)
	}
}

// present returns the threads of the region in the order of their numbers.
func (m *Monitor) present() []*thread {
	out := make([]*thread, 0, len(m.threads))
	for _, t := range m.threads {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *thread) int { return int(a.id) - int(b.id) })
	return out
}
