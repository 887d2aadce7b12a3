package eraser

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
)

// pairKey identifies a finding on a variable: pairs of accesses with the same two call stacks and
// operations are one.
type pairKey struct {
	stackA, stackB event.StackID
	opA, opB       event.Op
}

func keyOf(x *access, e *event.Event) pairKey {
	k := pairKey{x.stack, e.Stack, x.op, e.Op}
	if k.stackB < k.stackA || k.stackB == k.stackA && k.opB < k.opA {
		return pairKey{k.stackB, k.stackA, k.opB, k.opA}
	}
	return k
}

// raceReport is a finding under construction.
type raceReport struct {
	variable  event.ObjectID
	steps     [2]finding.Step // in order of the run
	count     int             // number of pairs of accesses
	noWarning bool            // the state machine has given no warning of the variable
	threads   []threadPair    // at most maxInstances
	latest    [][2]uint64     // by index in threads: the Seq of the latest two accesses, in order of the run
	partial   bool            // there were more pairs of threads than maxInstances
}

// threadPair identifies the accesses of a report by two threads: the threads, that of the call stack
// pairKey.stackA first, and whether the accesses are atomic.
type threadPair struct {
	a, b   event.ThreadID
	atomic [2]bool
}

// maxInstances bounds the pairs of threads that are kept of a report.
const maxInstances = 16

// addInstance records that x and e are an instance of the report with key k.
func (r *raceReport) addInstance(k pairKey, x *access, e *event.Event) {
	p := threadPair{x.thread, e.Thread, [2]bool{x.flags&event.Atomic != 0, e.Flags&event.Atomic != 0}}
	same := k.stackA == k.stackB && k.opA == k.opB
	if same && p.b < p.a || !same && (x.stack != k.stackA || x.op != k.opA) {
		p = threadPair{p.b, p.a, [2]bool{p.atomic[1], p.atomic[0]}}
	}
	at := slices.Index(r.threads, p)
	switch {
	case at >= 0:
		r.latest[at] = [2]uint64{x.seq, e.Seq}
	case len(r.threads) == maxInstances:
		r.partial = true
	default:
		r.threads, r.latest = append(r.threads, p), append(r.latest, [2]uint64{x.seq, e.Seq})
	}
}

func (r *raceReport) remember(n *event.Names) {
	for i := range r.steps {
		r.steps[i].Remember(n)
	}
}

// addReport records that x and e may race.
func (a *Analysis) addReport(v *variable, x *access, t *thread, e *event.Event) {
	k := keyOf(x, e)
	if r := v.pairs[k]; r != nil {
		r.count++
		r.addInstance(k, x, e)
		return
	}
	extra := len(v.pairs) >= a.opts.MaxPairs
	if extra && a.extraPairs >= a.opts.ExtraPairs || a.reportRoom > 0 && a.liveReports+len(a.retiredReports) >= a.reportRoom {
		a.stats.DroppedPairs++
		return
	}
	if extra {
		a.extraPairs++
	}
	a.liveReports++
	if v.pairs == nil {
		v.pairs = map[pairKey]*raceReport{}
	}
	r := newReport(x, t, e)
	r.addInstance(k, x, e)
	v.pairs[k] = r
	v.order = append(v.order, r)
	if len(a.fresh) < maxFresh {
		a.fresh = append(a.fresh, r)
	}
}

func newReport(x *access, t *thread, e *event.Event) *raceReport {
	return &raceReport{variable: e.Object, steps: [2]finding.Step(steps(x, t, e)), count: 1}
}

// steps returns x and e as evidence.
func steps(x *access, t *thread, e *event.Event) []finding.Step {
	var y access
	y.version = ^t.locks.Changes // differs from Changes, so that record copies the held locks
	y.record(t, e)
	return []finding.Step{x.step(e.Object), y.step(e.Object)}
}

func (x *access) step(object event.ObjectID) finding.Step {
	s := x.withoutLocks(object)
	s.Held, s.HeldAt = slices.Clone(x.held), slices.Clone(x.heldAt)
	return s
}

// withoutLocks returns the access as a step without the locks held.
func (x *access) withoutLocks(object event.ObjectID) finding.Step {
	return finding.Step{Seq: x.seq, Time: x.time, Thread: x.thread, Op: x.op, Flags: x.flags, Object: object, Stack: x.stack, Value: x.value}
}

// reports returns the reports on a variable. Without a warning of the state machine it returns
// none, because the state machine tolerates a first owner that initialises the variable without a
// lock; with Options.EveryPair it marks them as noWarning instead.
func (a *Analysis) reports(v *variable) []*raceReport {
	switch {
	case !v.warned && (a.opts.Plain || !a.opts.EveryPair):
		return nil
	case !v.warned:
		for _, r := range v.order {
			r.noWarning = true
		}
		return v.order
	case !a.opts.Plain:
		return v.order
	case len(v.order) > 0:
		return v.order[:1]
	case v.fallback != nil:
		return []*raceReport{v.fallback}
	}
	return nil
}

// Race is a pair of call stacks at which two threads access a variable, with nothing that orders
// the accesses or excludes them from each other.
type Race struct {
	finding.Finding
	// Warned reports that the state machine warns of the variable. It is always true without
	// Options.EveryPair.
	Warned bool
	// Instances holds, for each pair of threads, the Seq of their latest two such accesses, in
	// order of the run. It has at most 16 pairs; Partial reports that there were more.
	Instances [][]uint64
	Partial   bool
}

// Races returns the findings, sorted by variable, then by the position of the second access in
// the run.
func (a *Analysis) Races() []Race {
	return racesOf(a.sorted())
}

func racesOf(reports []*raceReport) []Race {
	out := make([]Race, len(reports))
	for i, r := range reports {
		out[i] = Race{Finding: r.finding(), Warned: !r.noWarning, Partial: r.partial}
		for _, seqs := range r.latest {
			out[i].Instances = append(out[i].Instances, slices.Clone(seqs[:]))
		}
	}
	return out
}

// maxFresh bounds the reports that TakeNew returns.
const maxFresh = 1 << 10

// TakeNew returns the pairs that were found since it was last called, with a warning or without, at
// most 1,024 of them. Their Warned has no meaning: it is decided at the end of the variable.
func (a *Analysis) TakeNew() []Race {
	out := racesOf(a.fresh)
	clear(a.fresh)
	a.fresh = a.fresh[:0]
	return out
}

// Finish returns the findings, in the order of Races.
func (a *Analysis) Finish() []finding.Finding {
	reports := a.sorted()
	out := make([]finding.Finding, len(reports))
	for i, r := range reports {
		out[i] = r.finding()
	}
	return out
}

// sorted returns all reports, in the order of Races.
func (a *Analysis) sorted() []*raceReport {
	all := slices.Clone(a.retiredReports)
	for _, v := range a.vars {
		all = append(all, a.reports(v)...)
	}
	slices.SortFunc(all, func(x, y *raceReport) int {
		return cmp.Or(cmp.Compare(x.variable, y.variable), cmp.Compare(x.steps[1].Seq, y.steps[1].Seq),
			cmp.Compare(x.steps[0].Seq, y.steps[0].Seq))
	})
	return all
}

func (r *raceReport) finding() finding.Finding {
	f := finding.Finding{
		Kind:       finding.Race,
		Confidence: finding.Potential,
		Objects:    []event.ObjectID{r.variable},
		Threads:    []event.ThreadID{r.steps[0].Thread, r.steps[1].Thread},
		Evidence:   []finding.Step{r.steps[0], r.steps[1]},
		Count:      r.count,
	}
	if r.noWarning {
		f.Reason = reason.Reason{What: reason.FirstOwner}
	}
	return f
}
