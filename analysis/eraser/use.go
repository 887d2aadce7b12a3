package eraser

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// use records how threads use a variable; Uses returns it as a run.Use.
type use struct {
	users     []event.ThreadID // in the order of their first accesses; at most run.MaxUsers
	last      event.ThreadID   // the thread of the latest access
	accesses  uint64
	writes    uint64
	steady    uint64 // accesses since guards last changed
	turns     uint64 // changes of thread since guards last changed
	guards    setID  // the locks that exclude all conflicting pairs so far from each other
	conflicts bool   // there has been a conflicting pair
}

// count counts an access.
func (u *use) count(e *event.Event) {
	u.accesses++
	u.steady++
	if e.Op.IsWrite() {
		u.writes++
	}
	if u.last == e.Thread {
		return
	}
	u.last = e.Thread
	u.turns++
	if len(u.users) < run.MaxUsers && !slices.Contains(u.users, e.Thread) {
		u.users = append(u.users, e.Thread)
	}
}

// refine refines guards by two conflicting accesses under locksets a and b that nothing else
// orders.
func (u *use) refine(sets *table, a, b setID) {
	guards := sets.guards(a, b)
	if u.conflicts {
		guards = sets.meet(u.guards, guards, true)
	}
	if !u.conflicts || guards != u.guards {
		u.guards, u.conflicts, u.steady, u.turns = guards, true, 0, 0
	}
}

// Uses reports how each variable in memory was used so far, in the order of their
// identifiers; with Options.Uses.
func (a *Analysis) Uses() []run.Use {
	out := make([]run.Use, 0, len(a.vars))
	for id, v := range a.vars {
		n := &v.use
		u := run.Use{Variable: id, Threads: len(n.users), Accesses: n.accesses, Writes: n.writes, Conflicts: n.conflicts, StableAccesses: n.steady, ThreadSwitches: n.turns}
		for _, m := range a.sets.sets[n.guards] {
			u.Guards = append(u.Guards, m.Lock())
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b run.Use) int { return cmp.Compare(a.Variable, b.Variable) })
	return out
}
