package execution_test

import (
	"slices"

	"github.com/tracepredict/tracepredict/observer/event"
)

// plain is a second implementation of the rules, directly from the order table and in quadratic
// time, for well-formed runs of eventtest. may reports whether event i can come after those of
// before, executed in that order.
type plain []event.Event

func (p plain) may(before []int, i int) bool {
	e := &p[i]
	in := func(j int) bool { return slices.Contains(before, j) }
	for j := range p {
		o := &p[j]
		needed := j < i && (o.Thread == e.Thread || o.Op == event.Fork && o.Peer == e.Thread)
		needed = needed || e.Op == event.Join && o.Thread == e.Peer
		if o.Object == e.Object && o.Object != 0 && j < i {
			needed = needed || o.Op == event.Init || e.Op == event.Destroy
		}
		if needed && !in(j) {
			return false
		}
	}
	destroyed := slices.ContainsFunc(before, func(j int) bool { return p[j].Op == event.Destroy && p[j].Object == e.Object })
	return !in(i) && !destroyed && p.allows(before, i, in)
}

func (p plain) allows(before []int, i int, in func(int) bool) bool {
	e := &p[i]
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		return !slices.ContainsFunc(p.open(before, e.Object), func(j int) bool { return e.Op == event.Acquire || p[j].Op == event.Acquire })
	case event.AcquireFailed:
		return slices.ContainsFunc(p.open(before, e.Object), func(j int) bool { return slices.Contains(p.open(first(i), e.Object), j) })
	case event.Read, event.Update:
		return blind(e) || p.sameValue(before, first(i), e.Object)
	case event.SemWait:
		return p.value(before, e.Object) > 0 && p.posted(before, i)
	case event.SemFailed:
		return p.value(before, e.Object) == 0
	case event.Wake:
		sent := p.notification(i)
		return sent < 0 || slices.Index(before, sent) > slices.Index(before, p.lastOf(i, event.Wait))
	case event.BarrierArrive:
		return p.gathered(p.generation(i), in)
	case event.BarrierDepart:
		return p.gathered(p.generation(p.lastOf(i, event.BarrierArrive))+1, in)
	case event.OnceLeave:
		return !slices.ContainsFunc(first(i), func(j int) bool { return p[j].Op == event.OnceDone && !in(j) })
	}
	return true
}

// first returns the first n indices of a run.
func first(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// open returns the acquires of a lock whose critical sections are open.
func (p plain) open(before []int, lock event.ObjectID) []int {
	var out []int
	for k, j := range before {
		o := &p[j]
		closed := func(r int) bool { return p[r].Op == event.Release && p[r].Object == lock && p[r].Thread == o.Thread }
		if o.Op.IsAcquire() && o.Object == lock && !slices.ContainsFunc(before[k:], closed) {
			out = append(out, j)
		}
	}
	return out
}

func (p plain) lastWrite(before []int, v event.ObjectID) int {
	for k := len(before) - 1; k >= 0; k-- {
		if o := &p[before[k]]; o.Op.IsWrite() && o.Object == v {
			return before[k]
		}
	}
	return -1
}

// sameValue reports whether a variable has the same value after an order of events as at a point of the
// run: the same event wrote it last, or one of the same value and, if that is a blind update, the
// variable had the same value before that as in the run.
func (p plain) sameValue(a, run []int, v event.ObjectID) bool {
	i, j := p.lastWrite(a, v), p.lastWrite(run, v)
	if i >= 0 && blind(&p[i]) && !p.sameValue(a[:slices.Index(a, i)], first(i), v) {
		return false
	}
	x, known := p.left(i, v)
	y, also := p.left(j, v)
	return i == j || known && also && x == y
}

// left returns the value that write i left in a variable, or that it had initially if i is -1, if all
// values of the variable are known.
func (p plain) left(i int, v event.ObjectID) (value uint64, known bool) {
	last, initial, read := -1, uint64(0), false
	for j := range p {
		e := &p[j]
		if e.Op == event.Hole {
			return 0, false
		}
		if !e.Op.IsAccess() || e.Object != v {
			continue
		}
		want := initial
		if last >= 0 {
			want = p[last].Value
		}
		switch {
		case e.Flags&event.HasValue == 0 || e.Flags&(event.NoSource|event.Late) != 0:
			return 0, false
		case e.Op != event.Read:
			last = j
		case last < 0 && !read:
			initial, read = e.Value, true
		case e.Value != want:
			return 0, false
		}
	}
	if i >= 0 {
		return p[i].Value, true
	}
	return initial, read
}

// blind reports whether what an update read goes nowhere but into the value that it wrote.
func blind(e *event.Event) bool { return e.Op == event.Update && e.Flags&event.ResultUnused != 0 }

func (p plain) lastOf(i int, op event.Op) int {
	for j := i - 1; j >= 0; j-- {
		if p[j].Thread == p[i].Thread && p[j].Op == op {
			return j
		}
	}
	return -1
}

// balance returns the number of posts minus the number of waits.
func (p plain) balance(before []int, sem event.ObjectID) int {
	n := 0
	for _, j := range before {
		switch {
		case p[j].Object != sem:
		case p[j].Op == event.SemPost:
			n++
		case p[j].Op == event.SemWait:
			n--
		}
	}
	return n
}

// initial returns the recorded initial value, or the least one that explains the run.
func (p plain) initial(sem event.ObjectID) (v int, known bool) {
	for i := range p {
		if e := &p[i]; e.Op == event.Init && e.Object == sem {
			return int(e.Value), true
		}
	}
	for i := range p {
		v = max(v, -p.balance(first(i+1), sem))
	}
	return v, false
}

func (p plain) value(before []int, sem event.ObjectID) int {
	v, _ := p.initial(sem)
	return v + p.balance(before, sem)
}

// posted reports whether wait v+j comes after post j, which is required if only one thread posts,
// and had not waited before any of its posts.
func (p plain) posted(before []int, i int) bool {
	v, known := p.initial(p[i].Object)
	waits := 0
	var posts []int
	var waited []event.ThreadID
	lock := false
	for j := range p {
		switch {
		case p[j].Object != p[i].Object:
		case p[j].Op == event.SemPost:
			posts = append(posts, j)
			lock = lock || slices.Contains(waited, p[j].Thread)
		case p[j].Op == event.SemWait:
			waited = append(waited, p[j].Thread)
			if j <= i {
				waits++
			}
		}
	}
	if !known || lock || slices.ContainsFunc(posts, func(j int) bool { return p[j].Thread != p[posts[0]].Thread }) {
		return true
	}
	return !slices.ContainsFunc(posts[:max(0, waits-v)], func(j int) bool { return !slices.Contains(before, j) })
}

// notification returns the notification that ended the wait of a wake: the oldest since that wait
// that no earlier wake has used. It returns -1 if there is none.
func (p plain) notification(wake int) int {
	used := map[int]bool{}
	for i := range p[:wake+1] {
		if p[i].Op != event.Wake || p[i].Flags&event.TimedOut != 0 {
			continue
		}
		sent := -1
		for j := p.lastOf(i, event.Wait) + 1; j < i && sent < 0; j++ {
			if o := &p[j]; (o.Op == event.Signal || o.Op == event.Broadcast) && o.Object == p[i].Object && !used[j] {
				sent = j
			}
		}
		if i == wake {
			return sent
		}
		used[sent] = sent >= 0 && p[sent].Op == event.Signal
	}
	return -1
}

// generation returns the generation of an arrival at a barrier of two threads.
func (p plain) generation(arrival int) int {
	n := 0
	for i := range p[:arrival] {
		if p[i].Op == event.BarrierArrive {
			n++
		}
	}
	return n / 2
}

// gathered reports whether all arrivals of the given number of first generations have happened.
func (p plain) gathered(generations int, in func(int) bool) bool {
	for i := range p {
		if p[i].Op == event.BarrierArrive && p.generation(i) < generations && !in(i) {
			return false
		}
	}
	return true
}
