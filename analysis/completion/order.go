package completion

import (
	"cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// The order of the run that the runs of a lattice keep is one of these; "" stands for the first:
//
//   - finding.OrderSync keeps that of all synchronisation.
//   - finding.OrderExclusion allows whole critical sections of a lock to change places: the clocks have no edges of locks,
//     and acquires and releases are steps of the lattice.
//   - finding.OrderMessages, that of PRETEX, has no edges of locks, and nothing in their place: sections may even overlap.
//     What is found so is predicted only if the checker accepts a schedule all the same.

// Clocks returns the clocks of a run that has not begun, for runs that keep an order.
func Clocks(o finding.Order) *causality.Clocks {
	if keepsLocks(o) {
		return causality.New()
	}
	return causality.NewExclusion()
}

func keepsLocks(o finding.Order) bool { return o == finding.OrderNone || o == finding.OrderSync }

// Locking returns what an event does to a lock, as a step of a lattice of runs that keep an order; lattice.NoLock unless
// sections may change places in them.
func Locking(o finding.Order, e *event.Event) lattice.Locking {
	switch {
	case o != finding.OrderExclusion:
	case e.Op == event.Acquire:
		return lattice.Acquires
	case e.Op == event.AcquireRead:
		return lattice.AcquiresShared
	case e.Op == event.Release:
		return lattice.Releases
	}
	return lattice.NoLock
}

// Predict makes a finding one that is predicted by a run that keeps an order.
func Predict(f *finding.Finding, o finding.Order) {
	f.Confidence, f.Order, f.Assumes = finding.Predicted, cmp.Or(o, finding.OrderSync), []string{finding.RaceFree}
	if !keepsLocks(o) {
		f.Assumes = []string{finding.GuardedData, finding.RaceFree}
		f.Spans = []finding.Span{{}} // the code of the sections is not examined
	}
}
