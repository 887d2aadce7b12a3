package happensbefore

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// pair identifies the races that are one finding: those with the same two call stacks and
// operations.
type pair struct {
	stackA, stackB event.StackID
	opA, opB       event.Op
}

func pairOf(x *access, e *event.Event) pair {
	if e.Stack < x.stack || e.Stack == x.stack && e.Op < x.op {
		return pair{e.Stack, x.stack, e.Op, x.op}
	}
	return pair{x.stack, e.Stack, x.op, e.Op}
}

// report holds the races of one pair on one variable.
type report struct {
	variable  event.ObjectID
	pair      pair
	steps     [2]finding.Step // of the first race, in order of the run
	last      [2]uint64       // Seq of the accesses of the last race
	count     int             // number of races
	uncertain bool            // Race.Uncertain
}

// reports holds the reports of a variable.
type reports struct {
	of     map[pair]*report // by pair; at most Options.MaxPairs
	order  []*report        // in the order in which they were made
	latest *report          // the report of the last race
}

// races holds the reports on variables whose lifetime ended, and counts of all races.
type races struct {
	races, dropped uint64 // Stats.Races, Stats.DroppedPairs
	ended          []*report
	endedCounts    map[pair]*endedCount
	live           int // reports on variables that live
	room           int // maximum of live and ended together; 0: there is none
}

// full reports whether there is no room for another report.
func (f *races) full() bool { return f.room > 0 && f.live+len(f.ended) >= f.room }

// endedCount counts the reports of one pair on variables whose lifetime ended.
type endedCount struct {
	n    int
	last *report
}

// maxEnded bounds endedCount.n: further reports of a pair are the same error on objects that are
// created and destroyed again and again.
const maxEnded = 64

// race records that x and e race.
func (a *Analysis) race(v *variable, x *access, t *thread, e *event.Event) {
	a.found.races++
	v.raced = true
	k := pairOf(x, e)
	r := v.reports.latest
	if r == nil || r.pair != k {
		r = v.reports.of[k]
	}
	if r != nil {
		r.count++
		r.last = [2]uint64{x.seq, e.Seq}
		v.reports.latest = r
		return
	}
	extra := len(v.reports.of) >= a.opts.MaxPairs
	if extra && a.extra >= a.opts.ExtraPairs || a.found.full() {
		a.found.dropped++
		return
	}
	if extra {
		a.extra++
	}
	a.found.live++
	var y access
	y.copyHeld(v, t.held.Held)
	y.thread, y.op, y.stack, y.seq, y.timestamp, y.value, y.flags = e.Thread, e.Op, e.Stack, e.Seq, e.Time, e.Value, e.Flags
	r = &report{
		variable: v.id, pair: k, steps: [2]finding.Step{x.step(v.id), y.step(v.id)}, last: [2]uint64{x.seq, e.Seq}, count: 1,
		uncertain: a.uncertain || (x.flags|e.Flags)&event.AfterHole != 0,
	}
	if v.reports.of == nil {
		v.reports.of = map[pair]*report{}
	}
	v.reports.of[k], v.reports.latest = r, r
	v.reports.order = append(v.reports.order, r)
}

// step returns the access as a step of a finding.
func (x *access) step(variable event.ObjectID) finding.Step {
	s := finding.Step{Seq: x.seq, Time: x.timestamp, Thread: x.thread, Op: x.op, Flags: x.flags, Object: variable, Stack: x.stack, Value: x.value}
	for _, h := range slices.Concat(x.held[:x.heldCount], x.moreHeld) {
		s.Held, s.HeldAt = append(s.Held, h.lock), append(s.HeldAt, h.stack)
	}
	return s
}

// retire keeps the reports on a variable whose lifetime ended. Beyond maxEnded reports of a pair, or if there is no
// room, it adds their counts to the last one of the pair instead.
func (f *races) retire(v *variable) {
	f.live -= len(v.reports.order)
	for _, r := range v.reports.order {
		d := f.endedCounts[r.pair]
		switch {
		case d == nil && f.full():
			f.dropped++
			continue
		case d == nil:
			d = &endedCount{}
			f.endedCounts[r.pair] = d
		case d.n == maxEnded || f.full():
			d.last.count += r.count
			continue
		}
		d.n, d.last = d.n+1, r
		f.ended = append(f.ended, r)
	}
}

// Race is a race of this run.
type Race struct {
	finding.Finding
	// Instances holds the Seq of the two accesses of its last and its first instance, in that
	// order; one only if they are the same. The events that a prediction of the last one needs
	// are the least likely to be evicted.
	Instances [][]uint64
	// Uncertain reports that something before the race was not observed (event.Hole,
	// event.NoSource) that may order the two accesses.
	Uncertain bool
}

// Races returns the races, sorted by variable, then by the Seq of the second access of the
// first instance.
func (a *Analysis) Races() []Race {
	all := slices.Clone(a.found.ended)
	for _, v := range a.vars.all {
		all = append(all, v.reports.order...)
	}
	slices.SortFunc(all, func(x, y *report) int {
		return cmp.Or(cmp.Compare(x.variable, y.variable), cmp.Compare(x.steps[1].Seq, y.steps[1].Seq), cmp.Compare(x.steps[0].Seq, y.steps[0].Seq))
	})
	out := make([]Race, 0, len(all))
	for _, r := range all {
		out = append(out, r.race())
	}
	return out
}

func (r *report) race() Race {
	x, y := r.steps[0], r.steps[1]
	first := []uint64{x.Seq, y.Seq}
	out := Race{Instances: [][]uint64{first}, Uncertain: r.uncertain, Finding: finding.Finding{
		Kind: finding.Race, Confidence: finding.Observed, Objects: []event.ObjectID{r.variable},
		Threads: []event.ThreadID{x.Thread, y.Thread}, Evidence: []finding.Step{x, y}, Count: r.count,
	}}
	if last := r.last[:]; !slices.Equal(first, last) {
		out.Instances = [][]uint64{last, first}
	}
	return out
}

// Finish returns the races as findings.
func (a *Analysis) Finish() []finding.Finding {
	races := a.Races()
	out := make([]finding.Finding, len(races))
	for i := range races {
		out[i] = races[i].Finding
	}
	return out
}

// Remember adds to n the threads and objects that a finding may still name.
func (a *Analysis) Remember(n *event.Names) {
	for id, v := range a.vars.all {
		n.AddObject(id)
		for _, xs := range [][]access{v.writes, v.reads} {
			for i := range xs {
				n.AddThread(xs[i].thread)
				for _, h := range slices.Concat(xs[i].held[:xs[i].heldCount], xs[i].moreHeld) {
					n.AddObject(h.lock)
				}
			}
		}
		for _, r := range v.reports.order {
			r.remember(n)
		}
	}
	for _, r := range a.found.ended {
		r.remember(n)
	}
	for _, t := range a.live {
		n.AddThread(t.id)
		for _, h := range t.held.Held {
			n.AddObject(h.Lock())
		}
	}
}

func (r *report) remember(n *event.Names) {
	for i := range r.steps {
		r.steps[i].Remember(n)
	}
}
