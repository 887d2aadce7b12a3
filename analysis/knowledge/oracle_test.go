package knowledge

import "slices"

// action is an event of a test.
type action struct {
	Thread string
	Op     string
	Object string
	Value  number
}

func (a *action) writes() bool { return a.Op == "write" || a.Op == "acquire" || a.Op == "release" }
func (a *action) shares() bool { return a.writes() || a.Op == "read" }

// oracle evaluates Table 1 of the paper on the partial order of an execution. Events are numbered
// from 0; -1 is the initial state.
type oracle struct {
	actions []action
	initial map[string]number
	locals  map[string]map[string]number
	before  [][]bool
}

func newOracle(actions []action, initial map[string]number, locals map[string]map[string]number) *oracle {
	o := &oracle{actions: actions, initial: initial, locals: locals, before: make([][]bool, len(actions))}
	for i := range actions {
		o.before[i] = make([]bool, len(actions))
		for j := i + 1; j < len(actions); j++ {
			a, b := &actions[i], &actions[j]
			conflict := a.shares() && b.shares() && a.Object == b.Object && (a.writes() || b.writes())
			o.before[i][j] = a.Thread == b.Thread || conflict
		}
	}
	for k := range actions {
		for i := range actions {
			for j := range actions {
				o.before[i][j] = o.before[i][j] || o.before[i][k] && o.before[k][j]
			}
		}
	}
	return o
}

func (o *oracle) in(e, past int) bool { return past >= 0 && (e == past || o.before[e][past]) }

// latest returns the latest event of a thread that is in the past of an event.
func (o *oracle) latest(thread string, past int) int {
	last := -1
	for i := range o.actions {
		if o.actions[i].Thread == thread && o.in(i, past) {
			last = i
		}
	}
	return last
}

// writes returns the writes of a variable in the past of an event.
func (o *oracle) writes(name string, past int) (all []int) {
	for i := range o.actions {
		if a := &o.actions[i]; a.Op == "write" && a.Object == name && o.in(i, past) {
			all = append(all, i)
		}
	}
	return all
}

// value returns the value of a variable, or a local one, in the predicted state of a thread.
func (o *oracle) value(thread string, past int, name string) number {
	v, local := o.locals[thread][name]
	if local {
		for i := range o.actions {
			if a := &o.actions[i]; a.Thread == thread && a.Op == "internal" && a.Object == name && o.in(i, past) {
				v = a.Value
			}
		}
		return v
	}
	if all := o.writes(name, past); len(all) > 0 {
		return o.actions[all[len(all)-1]].Value
	}
	return o.initial[name]
}

// history returns the states of a thread up to an event, oldest first.
func (o *oracle) history(thread string, past int) []int {
	states := []int{-1}
	for i := range o.actions {
		if o.actions[i].Thread == thread && o.in(i, past) {
			states = append(states, i)
		}
	}
	return states
}

// eval evaluates an expression in the state of a thread after an event.
func (o *oracle) eval(thread string, at int, x *expr) int64 {
	switch x.op {
	case "c":
		return x.n
	case "v":
		return int64(o.value(thread, at, x.name))
	case "read", "write":
		return int64(truth(at >= 0 && o.actions[at].Op == x.op && o.actions[at].Object == x.name))
	case "@":
		return o.eval(x.name, o.latest(x.name, at), x.x)
	}
	h := o.history(thread, at)
	holds := func(x *expr) func(int) bool { return func(i int) bool { return o.eval(thread, i, x) != 0 } }
	switch x.op {
	case "prev":
		return o.eval(thread, h[max(0, len(h)-2)], x.x)
	case "once":
		return int64(truth(slices.ContainsFunc(h, holds(x.x))))
	case "hist":
		return int64(truth(!slices.ContainsFunc(h, func(i int) bool { return !holds(x.x)(i) })))
	case "since":
		for i := len(h) - 1; i >= 0; i-- {
			if holds(x.y)(h[i]) {
				return 1
			}
			if !holds(x.x)(h[i]) {
				return 0
			}
		}
		return 0
	}
	a := o.eval(thread, at, x.x)
	if x.y == nil {
		return apply(x.op, a, 0)
	}
	return apply(x.op, a, o.eval(thread, at, x.y))
}
