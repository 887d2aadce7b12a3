package eraser

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
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
}

func (r *raceReport) remember(n *event.Names) {
	for i := range r.steps {
		r.steps[i].Remember(n)
	}
}

const noWarningReason = "one of the accesses may be the first owner's preparation of the variable, before others knew of it"

// addReport records that x and e may race.
func (a *Analysis) addReport(v *variable, x *access, t *thread, e *event.Event) {
	k := keyOf(x, e)
	if r := v.pairs[k]; r != nil {
		r.count++
		return
	}
	if len(v.pairs) >= a.opts.MaxPairs {
		a.stats.DroppedPairs++
		return
	}
	if v.pairs == nil {
		v.pairs = map[pairKey]*raceReport{}
	}
	r := newReport(x, t, e)
	v.pairs[k] = r
	v.order = append(v.order, r)
}

func newReport(x *access, t *thread, e *event.Event) *raceReport {
	return &raceReport{e.Object, [2]finding.Step(steps(x, t, e)), 1, false}
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

// Finish returns the findings, sorted by variable, then by the position of the second access in
// the run.
func (a *Analysis) Finish() []finding.Finding {
	all := a.retiredReports
	for _, v := range a.vars {
		all = append(all, a.reports(v)...)
	}
	slices.SortFunc(all, func(x, y *raceReport) int {
		return cmp.Or(cmp.Compare(x.variable, y.variable), cmp.Compare(x.steps[1].Seq, y.steps[1].Seq),
			cmp.Compare(x.steps[0].Seq, y.steps[0].Seq))
	})
	out := make([]finding.Finding, 0, len(all))
	for _, r := range all {
		out = append(out, r.finding())
	}
	return out
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
		f.Reason = noWarningReason
	}
	return f
}
