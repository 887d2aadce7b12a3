package property

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// An access and its record are two moments: another thread's access may come between them, and be
// recorded first. So the order of the records of accesses is not always that of the run. What a
// record proves is that its access was made after the event of its thread before it and before the
// next one, or, if a hardware watchpoint saw it, before the record itself. Moreover an access and its
// record are at most MaxDelay apart. Two accesses whose times overlap by these bounds may have been
// made in either order. The prover steps the monitor on all orders that are left. The run violates
// the property for certain if no order is left that does not.

// MaxDelay is the longest time between an access and its record: a thread may be preempted
// in between. It is that for which the observer waits for the record of a store that a load saw.
const MaxDelay = 100 * time.Millisecond

// Bounds of the search. A run whose order is open in more ways proves nothing.
const (
	maxOrders = 1 << 10 // ways to execute the same number of events, at once
	maxSteps  = 1 << 20 // of the monitor, in all
)

// moment is when an event that the monitor reads happened, as far as the record shows.
type moment struct {
	thread event.ThreadID
	exact  bool // it is the record itself
	// It happened after the event with Seq after and at or before the one with Seq until, and from
	// the time from to the time to.
	after, until, from, to uint64

	events   uint64 // declared events that it is
	variable int32  // that it writes; -1: none
	value    uint64
}

// before reports whether the record proves that m happened before o.
func (m *moment) before(o *moment) bool {
	if m.until <= o.after {
		return true
	}
	return m.to < o.from && !(m.exact && o.exact)
}

// isUncertain reports whether an event happened at another moment than its record. Events without a
// time come from traces whose order is given.
func isUncertain(op event.Op, flags event.Flags, time uint64) bool {
	return op.IsAccess() && (time != 0 || flags&event.Watched != 0)
}

// bounds reports whether an event is a record that its thread made itself at that point of the run.
func bounds(flags event.Flags) bool { return flags&(event.Inferred|event.Past) == 0 }

// point is the position of a record, and its time.
type point struct{ seq, time uint64 }

// moments returns the kept events that the property reads, in the order of the trace.
func (s *slice) moments() []moment {
	h := &s.analysis.history
	var out []moment
	last := map[event.ThreadID]point{} // by thread: its last record
	open := map[event.ThreadID][]int{} // by thread: those of out that its next record bounds
	newest := uint64(0)
	for i := range h.Log {
		x, r := &h.Log[i], h.reads[i]
		if bounds(x.Flags) {
			for _, k := range open[x.Thread] {
				out[k].until = x.Seq
				if x.Time != 0 {
					out[k].to = min(out[k].to, x.Time)
				}
			}
			delete(open, x.Thread)
		}
		if s.letter(r) {
			m := moment{thread: x.Thread, exact: true, after: x.Seq, until: x.Seq, from: x.Time, to: x.Time, events: r.mask, variable: r.variable, value: x.Value}
			if isUncertain(x.Op, x.Flags, x.Time) {
				l := last[x.Thread]
				m.exact, m.after, m.from = false, max(l.seq, h.Log[0].Seq-1), max(l.time, x.Time-min(x.Time, uint64(MaxDelay)))
				if x.Flags&event.Watched == 0 {
					m.until, m.to = math.MaxUint64, x.Time+uint64(MaxDelay)
					open[x.Thread] = append(open[x.Thread], len(out))
				}
			}
			if x.Time == 0 {
				m.from, m.to = 0, math.MaxUint64
			}
			out = append(out, m)
		}
		if x.Op == event.Fork {
			last[x.Peer] = point{x.Seq, x.Time}
		}
		if bounds(x.Flags) {
			l := last[x.Thread]
			// An event that was sent late stands behind others that its record came before.
			if l.time = x.Time; x.Time >= newest {
				l.seq = x.Seq
			}
			last[x.Thread] = l
		}
		newest = max(newest, x.Time)
	}
	narrow(out)
	return out
}

// narrow applies the order of each thread: an event happened no later than the next one of its
// thread, and no earlier than the one before.
func narrow(all []moment) {
	next := map[event.ThreadID]*moment{}
	for i := len(all) - 1; i >= 0; i-- {
		m := &all[i]
		if n := next[m.thread]; n != nil {
			m.until, m.to = min(m.until, n.until), min(m.to, n.to)
		}
		next[m.thread] = m
	}
	last := map[event.ThreadID]*moment{}
	for i := range all {
		m := &all[i]
		if l := last[m.thread]; l != nil {
			m.after, m.from = max(m.after, l.after), max(m.from, l.from)
		}
		last[m.thread] = m
	}
}

// letter reports whether the monitor reads a letter at an event.
func (s *slice) letter(r read) bool { return s.reads(int(r.variable), r.mask, false) }

// outcome is the values of the variables and the states of the monitor after some order of events.
type outcome struct {
	values []uint64
	states []lattice.State // sorted; none is bad
}

// start returns the outcome of no event; ok is false if the initial state violates the property.
func (s *slice) start(initial []uint64) (o outcome, ok bool) {
	o = outcome{values: slices.Clone(initial), states: s.property.Monitor.Start(nil)}
	return s.read(o, 0)
}

// read makes the monitor read the letter of the values and of declared events.
func (s *slice) read(o outcome, events uint64) (next outcome, ok bool) {
	p := s.property
	letter := p.Labels.Letter(o.values, events&p.Events)
	next.values = o.values
	for _, q := range o.states {
		next.states = p.Monitor.Step(next.states, q, letter)
	}
	slices.Sort(next.states)
	next.states = slices.Compact(next.states)
	return next, !slices.ContainsFunc(next.states, p.Monitor.Bad)
}

// step returns the outcome after one more event; ok is false if it violates the property.
func (s *slice) step(o outcome, events uint64, variable int32, value uint64) (next outcome, ok bool) {
	if variable >= 0 {
		o.values = slices.Clone(o.values)
		o.values[variable] = value
	}
	return s.read(o, events)
}

// key identifies the outcome, and how many events of each thread led to it.
func (o *outcome) key(counts []int) string {
	var b []byte
	for _, n := range counts {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, v := range o.values {
		b = binary.AppendUvarint(b, v)
	}
	for _, q := range o.states {
		b = binary.AppendUvarint(b, uint64(q))
	}
	return string(b)
}

// proves reports whether every order of the run that the record leaves open violates the property.
func (s *slice) proves() bool {
	if s.baseBad {
		return true
	}
	p := prover{slice: s, left: maxSteps}
	outcomes := map[string]outcome{s.base.key(nil): s.base}
	all := s.moments()
	for _, together := range clusters(all) {
		if outcomes = p.orders(together, outcomes); len(outcomes) == 0 || p.left < 0 {
			break
		}
	}
	return len(outcomes) == 0 && p.left >= 0
}

// clusters divides moments so that the record proves that those of each part come before those of
// the next.
func clusters(all []moment) (parts [][]moment) {
	after, from := make([]uint64, len(all)+1), make([]uint64, len(all)+1)
	after[len(all)], from[len(all)] = math.MaxUint64, math.MaxUint64
	for i := len(all) - 1; i >= 0; i-- {
		after[i], from[i] = min(after[i+1], all[i].after), min(from[i+1], all[i].from)
	}
	first, until, to := 0, uint64(0), uint64(0)
	for i := range all {
		until, to = max(until, all[i].until), max(to, all[i].to)
		if i+1 == len(all) || until <= after[i+1] || to < from[i+1] {
			parts = append(parts, all[first:i+1])
			first = i + 1
		}
	}
	return parts
}

// prover follows all orders that the record leaves open.
type prover struct {
	*slice
	left int // steps
}

// way is one order of some events.
type way struct {
	outcome
	counts []int // by lane
}

// orders returns the outcomes of all orders of some moments that do not violate the property.
func (p *prover) orders(all []moment, from map[string]outcome) map[string]outcome {
	lanes := lanesOf(all)
	ways := map[string]way{}
	for _, o := range from {
		ways[o.key(make([]int, len(lanes)))] = way{o, make([]int, len(lanes))}
	}
	for range all {
		next := map[string]way{}
		for _, w := range ways {
			p.extend(lanes, w, next)
		}
		if ways = next; len(ways) > maxOrders {
			p.left = -1
		}
		if p.left < 0 {
			return nil
		}
	}
	out := map[string]outcome{}
	for _, w := range ways {
		out[w.key(nil)] = w.outcome
	}
	return out
}

// extend adds the ways that are one event longer.
func (p *prover) extend(lanes [][]moment, w way, into map[string]way) {
	for i, lane := range lanes {
		if w.counts[i] == len(lane) {
			continue
		}
		m := &lane[w.counts[i]]
		if p.left--; p.left < 0 || waits(lanes, w.counts, i, m) {
			continue
		}
		if o, ok := p.step(w.outcome, m.events, m.variable, m.value); ok {
			counts := slices.Clone(w.counts)
			counts[i]++
			into[o.key(counts)] = way{o, counts}
		}
	}
}

// waits reports whether an event that comes before m, which is the next one of a lane, is missing.
func waits(lanes [][]moment, counts []int, own int, m *moment) bool {
	for j, lane := range lanes {
		if j != own && counts[j] < len(lane) && lane[counts[j]].before(m) {
			return true
		}
	}
	return false
}

// lanesOf returns the moments of each thread, in its order.
func lanesOf(all []moment) [][]moment {
	by := map[event.ThreadID][]moment{}
	for i := range all {
		by[all[i].thread] = append(by[all[i].thread], all[i])
	}
	var lanes [][]moment
	for _, thread := range slices.Sorted(maps.Keys(by)) {
		lanes = append(lanes, by[thread])
	}
	return lanes
}

// dropping advances what is known of the kept part's beginning over the first n kept events, in the
// order of the trace: they are dropped.
func (s *slice) dropping(n int) {
	h := &s.analysis.history
	for i := 0; i < n && !s.baseBad; i++ {
		if r := h.reads[i]; s.letter(r) {
			var ok bool
			s.base, ok = s.step(s.base, r.mask, r.variable, h.Log[i].Value)
			s.baseBad = !ok
		}
	}
}
