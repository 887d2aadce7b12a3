package scope

import (
	"fmt"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/causality"
)

// This file looks for other runs. What is concurrent with a synchronising action may come on its other side: an event that
// was observed before it after it, or the other way round. For each action, when maxAhead regions after it have ended, it is
// tried whether the state of the region before the action, with some such events on the other side, violates a check. All that
// comes before that region stays as it was observed. Where events of a thread lie is a cut of its sequence; all cuts are
// tried up to maxCuts of them, the extreme ones first. The begin of a thread is the first of its events: with none of them
// before the action, the thread is in no region yet. Where a thread gives itself a name, and has other types by that, this is one
// of its events too, so that its types depend on the cut (typed). A schedule for the cut must be found and accepted by others
// (History): that decides what is feasible, and here it is only guessed.

// History makes schedules.
type History interface {
	// Schedule returns a schedule that a checker has accepted: the observed run up to the event from, and then the events
	// seqs in this order, each after all that must come before it. Relevant says which events must not come in between.
	Schedule(from uint64, seqs []uint64, relevant func(seq uint64) bool) ([]finding.Step, error)
}

// The bounds of the search: events that are kept of a region, regions after an action whose events may come before it, cuts
// that are tried at an action, and violations of which no schedule is accepted, since each asks for a search in the kept part
// of the run.
const (
	maxEvents  = 4096
	maxAhead   = 3
	maxCuts    = 64
	maxRefused = 64
)

// ahead is what is kept to look for other runs.
type ahead struct {
	events []counted // of the present region
	full   bool      // it has more, or what it has is not known well enough
	before []*past   // the regions before it, at most maxAhead, oldest first
	found  []*finding.Finding
	stats  Searched
}

// Searched are figures of the search for other runs.
type Searched struct {
	Actions uint64 // with which events were concurrent
	Left    uint64 // of these, not examined or not with all cuts
	Refused uint64 // violations of which no schedule was accepted
}

// counted is an event of local properties, the begin of a thread, or what names it.
type counted struct {
	seq      uint64
	t        *thread
	declared uint64
	before   []bool // the types that the thread had before it
	has      []bool // of a begin or a Named: the types that its name makes it one of
	at       position
	after    uint64 // the number of the last action that comes before it, from 1, if that is one of the recent ones
}

// past is a region that has ended, with the action that ended it.
type past struct {
	region uint64
	number uint64 // of the action, from 1
	events []counted
	full   bool // the events are not known
	counts Counts
	checks []check // before the region
	from   uint64  // Seq of the action before it
	action finding.Step
	clock  causality.Clock
	young  bool               // a thread was first seen in the region, and it is not known when it began
	types  map[*thread][]bool // in the end, of threads with events
}

// keep keeps an event of local properties, the begin of a thread, or what names it; these two have no declared events.
// Before is the types that the thread had.
func (m *Monitor) keep(seq uint64, t *thread, before []bool, declared uint64, at position, clock causality.Clock) {
	if m.o.History == nil || m.ahead.full {
		return
	}
	if m.ahead.full = len(m.ahead.events) == maxEvents; m.ahead.full {
		return
	}
	after := m.stats.Actions
	for i := len(m.recent) - 1; i >= 0 && !m.recent[i].before(clock); i-- {
		after--
	}
	e := counted{seq: seq, t: t, declared: declared & t.events, before: before, at: at, after: after}
	if declared == 0 {
		e.has = t.has
	}
	m.ahead.events = append(m.ahead.events, e)
}

// look looks for other runs about the action maxAhead regions before the present one, which ends, and keeps the present one.
// The step is the action that ends it; nil at the end of the run: then it looks at all that are left.
func (m *Monitor) look(next *finding.Step, clock causality.Clock, checks []check) {
	if m.o.History == nil {
		return
	}
	p := &past{
		region: m.region, number: m.stats.Actions + 1, events: m.ahead.events, full: m.ahead.full, counts: m.counts.clone(), checks: checks, from: m.last.Seq,
		clock: slices.Clone(clock), types: map[*thread][]bool{},
	}
	for i := range p.events {
		p.types[p.events[i].t] = p.events[i].t.types
	}
	if next != nil {
		p.action = *next
	}
	for _, t := range m.threads {
		p.young = p.young || t.born == m.region && !t.begins
	}
	m.ahead.events, m.ahead.full = nil, false
	if m.stats.Actions == 0 { // Threads begin, and nothing stays as it was observed.
		return
	}
	m.ahead.before = append(m.ahead.before, p)
	for len(m.ahead.before) > maxAhead || next == nil && len(m.ahead.before) > 1 {
		m.search(m.ahead.before[0], m.ahead.before[1:])
		m.ahead.before = slices.Delete(m.ahead.before, 0, 1)
	}
}

func (c *Counts) clone() Counts { return Counts{slices.Clone(c.verdicts), slices.Clone(c.sizes)} }

// cuts are the events of a thread that may lie before an action.
type cuts struct {
	t        *thread
	events   []counted
	begins   bool // the first event is its begin
	least    int  // those that come before the action
	observed int
	chosen   int
}

// search looks for a cut by which the region before an action violates a check, with events of the regions after it.
func (m *Monitor) search(b *past, later []*past) {
	q := &question{past: b, later: later}
	if i := slices.IndexFunc(later, func(p *past) bool { return p.full }); i >= 0 {
		q.later, q.short = later[:i], true
	}
	if free := q.cut(); !free && !q.short && !b.full {
		return
	}
	m.ahead.stats.Actions++
	young := func(c *cuts) bool { return c.t.born > b.region && !c.t.begins }
	other := func(c *cuts) bool { return c.observed > 0 && !slices.Equal(c.typed(c.observed, nil), b.types[c.t]) }
	if m.ahead.stats.Refused >= maxRefused || b.young || b.full || slices.ContainsFunc(q.all, young) || slices.ContainsFunc(q.all, other) || slices.ContainsFunc(m.s.Locals, func(l Local) bool { return l.Across }) {
		m.ahead.stats.Left++
		return
	}
	if complete := eachCut(q.all, func() bool { m.judge(q); return m.undecided() }); !complete || q.short {
		m.ahead.stats.Left++
	}
}

// question is whether an action may come earlier or later.
type question struct {
	*past
	later []*past // the regions after the action
	short bool    // there were more, of which the events are not known
	all   []*cuts
}

// undecided reports whether there is a check that may still be found violated.
func (m *Monitor) undecided() bool {
	return m.ahead.stats.Refused < maxRefused && slices.ContainsFunc(m.checks, func(c check) bool { return !c.predicted && c.verdict == monitor.Unknown })
}

// cut finds the threads with events at the action. It reports whether one of the events may lie on the other side of it.
func (q *question) cut() (free bool) {
	of := func(e *counted) *cuts {
		i := slices.IndexFunc(q.all, func(c *cuts) bool { return c.t == e.t })
		if i < 0 {
			i = len(q.all)
			q.all = append(q.all, &cuts{t: e.t})
		}
		return q.all[i]
	}
	for i := range q.events {
		e := &q.events[i]
		c := of(e)
		c.events = append(c.events, *e)
		c.observed++
		if e.at.before(q.clock) {
			c.least = c.observed
		}
	}
	for _, p := range q.later {
		for i := range p.events {
			if e := &p.events[i]; e.after < q.number {
				c := of(e)
				c.events = append(c.events, *e)
			}
		}
	}
	for _, c := range q.all {
		c.begins = c.t.begins && c.t.born >= q.region
		c.chosen = c.observed
		free = free || c.least < len(c.events)
	}
	return free
}

// eachCut calls try for cuts until it returns false: for those in which all threads, or one, have as few or as many events
// before the action as may be, and then for all. It returns false if not all were tried, being more than maxCuts.
func eachCut(all []*cuts, try func() bool) bool {
	for _, c := range all {
		c.chosen = c.least
	}
	if !try() {
		return true
	}
	for _, c := range all {
		c.chosen = len(c.events)
	}
	if !try() {
		return true
	}
	number := 1
	for _, c := range all {
		c.chosen = c.observed
		if number <= maxCuts {
			number *= len(c.events) - c.least + 1
		}
	}
	for _, c := range all {
		for _, at := range []int{c.least, len(c.events)} {
			if c.chosen = at; at != c.observed && !try() {
				return true
			}
		}
		c.chosen = c.observed
	}
	if number > maxCuts {
		return false
	}
	for _, c := range all {
		c.chosen = c.least
	}
	for {
		if !try() {
			return true
		}
		i := 0
		for ; i < len(all) && all[i].chosen == len(all[i].events); i++ {
			all[i].chosen = all[i].least
		}
		if i == len(all) {
			return true
		}
		all[i].chosen++
	}
}

// judge judges the region before an action with the chosen cuts, and makes findings of the checks that are violated.
func (m *Monitor) judge(q *question) {
	if !slices.ContainsFunc(q.all, func(c *cuts) bool { return c.chosen != c.observed }) {
		return
	}
	counts := q.counts.clone()
	for _, c := range q.all {
		m.count(&counts, c, c.observed, ^uint64(0))
		m.count(&counts, c, c.chosen, 1)
	}
	atoms := make([]bool, len(m.s.Atoms))
	letter := m.letter(&counts, atoms)
	for i := range m.checks {
		c, f := &m.checks[i], m.s.Checks[i].Formula
		if !c.predicted && c.verdict == monitor.Unknown && f.Verdict(f.Next(q.checks[i].at, letter)) == monitor.False {
			c.predicted = m.predict(q, i, atoms)
		}
	}
}

// count adds a thread with its first n events, so many times, unless it has not begun with these.
func (m *Monitor) count(counts *Counts, c *cuts, n int, times uint64) {
	if !c.has(n) {
		return
	}
	for i, is := range c.typed(n, nil) {
		if is {
			counts.sizes[i] += times
		}
	}
	for i := range m.s.Locals {
		counts.verdicts[i][m.read(i, c, n)] += times
	}
}

// typed returns the types that the thread has after its first n events, n at least 1. If read is not nil, it gets each event of
// the local properties among them, with the types that the thread has there. A thread that begins among these events has,
// until its first event of a local property, the types of its last name so far (setTypes); from then on names only add types.
func (c *cuts) typed(n int, read func(e *counted, types []bool)) []bool {
	types, typed := c.events[0].before, !c.begins
	for i := range c.events[:n] {
		e := &c.events[i]
		switch {
		case e.has == nil:
			typed = true
			if read != nil {
				read(e, types)
			}
		case typed:
			types = union(types, e.has)
		default:
			types = e.has
		}
	}
	return types
}

// union returns the types of both.
func union(a, b []bool) []bool {
	out := slices.Clone(a)
	for i := range b {
		out[i] = out[i] || b[i]
	}
	return out
}

// has reports whether the thread has begun with its first n events.
func (c *cuts) has(n int) bool { return n > 0 || !c.begins }

// read returns the verdict of a local property on a thread that has had its first n events in a region.
func (m *Monitor) read(i int, c *cuts, n int) Verdict {
	l := &m.s.Locals[i]
	at := l.Formula.Start()
	types := c.typed(n, func(e *counted, types []bool) {
		if letter := l.letterOf(e.declared); letter != 0 && types[l.Type] {
			at = l.Formula.Next(at, letter)
		}
	})
	if !types[l.Type] {
		return NotApplicable
	}
	return Verdict(l.Formula.Verdict(at))
}

// predict makes the finding of a violated check if there is a schedule.
func (m *Monitor) predict(q *question, check int, atoms []bool) bool {
	var seqs, moved []uint64
	relevant := map[uint64]bool{q.action.Seq: true, m.last.Seq: true}
	for _, c := range q.all {
		for j := range c.events {
			if j < c.chosen {
				seqs = append(seqs, c.events[j].seq)
			}
			if (j < c.chosen) != (j < c.observed) {
				moved = append(moved, c.events[j].seq)
			}
		}
	}
	for _, p := range append([]*past{q.past}, q.later...) {
		relevant[p.action.Seq] = true
		for i := range p.events {
			relevant[p.events[i].seq] = true
		}
	}
	slices.Sort(seqs)
	slices.Sort(moved)
	steps, err := m.o.History.Schedule(q.from, append(seqs, q.action.Seq), func(seq uint64) bool { return relevant[seq] })
	if err != nil {
		m.ahead.stats.Refused++
		return false
	}
	m.ahead.found = append(m.ahead.found, m.predicted(q, check, atoms, steps, len(moved)))
	if m.o.Found != nil {
		m.o.Found(m.ahead.found[len(m.ahead.found)-1])
	}
	return true
}

// predicted returns the finding of a schedule.
func (m *Monitor) predicted(q *question, check int, atoms []bool, steps []finding.Step, moved int) *finding.Finding {
	f := m.finding(check, atoms)
	f.Confidence, f.Order, f.Assumes = finding.Predicted, finding.OrderSync, []string{finding.RaceFree}
	f.Scope.Region, f.Scope.Moved = q.region, uint64(moved)
	if m.s.Checks[check].Message == "" {
		f.Message = fmt.Sprintf("another schedule of this run violates %s in region %d", m.s.Name, q.region)
	}
	f.Evidence, f.Witness = []finding.Step{q.action}, steps
	m.mark(steps, q.all)
	for i := range m.s.Locals {
		l := &m.s.Locals[i]
		out := finding.LocalVerdicts{Name: l.Name, Type: m.s.Types[l.Type].Name, Threads: []finding.ThreadVerdict{}}
		for _, c := range q.all {
			if v := m.read(i, c, c.chosen); c.has(c.chosen) && v != NotApplicable && len(out.Threads) < finding.MaxVerdicts {
				out.Threads = append(out.Threads, finding.ThreadVerdict{Thread: c.t.id, Verdict: v.String()})
			}
		}
		slices.SortFunc(out.Threads, func(a, b finding.ThreadVerdict) int { return int(a.Thread) - int(b.Thread) })
		f.Scope.Locals = append(f.Scope.Locals, out)
	}
	f.AddSides()
	return f
}

// mark adds to the steps of a schedule which events of local properties they are.
func (m *Monitor) mark(steps []finding.Step, all []*cuts) {
	declared := map[uint64]uint64{}
	for _, c := range all {
		for _, e := range c.events[:c.chosen] {
			declared[e.seq] = e.declared
		}
	}
	for i := range steps {
		for bit, name := range m.s.Events {
			if declared[steps[i].Seq]>>bit&1 != 0 {
				steps[i].Truth = append(steps[i].Truth, finding.Truth{Name: name, Holds: true})
			}
		}
	}
}

// Searched returns figures of the search for other runs.
func (m *Monitor) Searched() Searched { return m.ahead.stats }

// letterOf returns the letter of declared events.
func (l *Local) letterOf(declared uint64) (letter monitor.Letter) {
	for j, e := range l.Events {
		if declared&e != 0 {
			letter |= 1 << j
		}
	}
	return letter
}
