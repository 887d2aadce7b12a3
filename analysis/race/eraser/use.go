package eraser

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// use records how threads use a variable; Uses returns it as a run.Use.
type use struct {
	users          []event.ThreadID // in the order of their first accesses; at most run.MaxUsers
	last           event.ThreadID   // the thread of the latest access
	accesses       uint64
	writes         uint64
	stableAccesses uint64 // accesses since guards last changed
	threadSwitches uint64 // of these, those by another thread than the access before
	guards         setID  // the locks that exclude the accesses of every conflicting pair so far from each other
	conflicts      bool   // there has been a conflicting pair
}

// count counts an access.
func (u *use) count(e *event.Event) {
	u.accesses++
	u.stableAccesses++
	if e.Op.IsWrite() {
		u.writes++
	}
	if u.last == e.Thread {
		return
	}
	u.last = e.Thread
	u.threadSwitches++
	if len(u.users) < run.MaxUsers && !slices.Contains(u.users, e.Thread) {
		u.users = append(u.users, e.Thread)
	}
}

// refine removes from guards the locks that do not exclude two accesses, made under locksets a and
// b, from each other. The accesses conflict, and only locks may order them.
func (u *use) refine(sets *table, a, b setID) {
	guards := sets.guards(a, b)
	if u.conflicts {
		guards = sets.refine(u.guards, guards, true)
	}
	if !u.conflicts || guards != u.guards {
		u.guards, u.conflicts, u.stableAccesses, u.threadSwitches = guards, true, 0, 0
	}
}

// Uses reports how each variable in memory was used so far, in the order of their
// identifiers; with Options.Uses.
func (a *Analysis) Uses() []run.Use {
	out := make([]run.Use, 0, len(a.vars))
	for id, v := range a.vars {
		n := &v.use
		u := run.Use{Variable: id, Threads: len(n.users), Accesses: n.accesses, Writes: n.writes, Conflicts: n.conflicts, StableAccesses: n.stableAccesses, ThreadSwitches: n.threadSwitches}
		for _, m := range a.sets.sets[n.guards] {
			u.Guards = append(u.Guards, m.Lock())
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b run.Use) int { return cmp.Compare(a.Variable, b.Variable) })
	return out
}
