package eraser

import (
	"cmp"
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// MaxUsers is how many threads of one variable are told apart.
const MaxUsers = 64

// Use is how threads used a variable.
type Use struct {
	Variable event.ObjectID
	State    State
	Threads  int    // at most MaxUsers, which stands for so many or more
	Accesses uint64 // events
	Writes   uint64 // of these
	// Conflicts: some accesses of two threads, one of them a write, are ordered by
	// nothing but locks, if by anything.
	Conflicts bool
	// Guards are the locks that keep all such accesses apart, sorted.
	Guards []event.ObjectID
	// Steady is how many accesses there were since Guards last changed, Turns how
	// often another thread than before made them.
	Steady, Turns uint64
}

// use is the account of a variable.
type use struct {
	users     []event.ThreadID // as they came
	last      event.ThreadID
	accesses  uint64
	writes    uint64
	steady    uint64
	turns     uint64
	guards    setID
	conflicts bool
}

// take counts an access.
func (u *use) take(e *event.Event) {
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
	if len(u.users) < MaxUsers && !slices.Contains(u.users, e.Thread) {
		u.users = append(u.users, e.Thread)
	}
}

// meet takes two accesses under locksets a and b that nothing else orders.
func (u *use) meet(sets *table, a, b setID) {
	guards := sets.guards(a, b)
	if u.conflicts {
		guards = sets.meet(u.guards, guards, true)
	}
	if !u.conflicts || guards != u.guards {
		u.guards, u.conflicts, u.steady, u.turns = guards, true, 0, 0
	}
}

// Uses tells how each variable in memory was used so far, in the order of their
// identifiers; with Options.Uses.
func (a *Analysis) Uses() []Use {
	out := make([]Use, 0, len(a.vars))
	for id, v := range a.vars {
		n := &v.use
		u := Use{Variable: id, State: v.state, Threads: len(n.users), Accesses: n.accesses, Writes: n.writes, Conflicts: n.conflicts, Steady: n.steady, Turns: n.turns}
		for _, m := range a.sets.sets[n.guards] {
			u.Guards = append(u.Guards, m.lock())
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b Use) int { return cmp.Compare(a.Variable, b.Variable) })
	return out
}
