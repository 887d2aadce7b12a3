package happensbefore

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/oldest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Eviction must not cause a false race: without the edges from the accesses of a variable, or from the releases of a
// lock, later accesses would seem unordered. So all that is evicted comes before any later event of what may have been
// evicted. That agrees with the run, and can only hide a race.

// floor is what comes before every event of a variable or lock that may have been evicted.
type floor struct {
	known   vector
	horizon event.ObjectID // the largest identifier at the latest eviction; what comes later was not evicted
	threads event.ThreadID // the largest identifier of a thread that was evicted
	times   uint64         // evictions
	unused  uint64         // see Unused
	locks   uint64         // number of locks evicted
	others  uint64         // number of semaphores, conditions, barriers, onces and channels evicted
	ended   uint64         // number of threads evicted
}

// Unused returns the number of the event before which the semaphores, conditions, barriers, onces and channels were used
// last that Shrink evicted; 0: it evicted none.
func (a *Analysis) Unused() uint64 { return a.floor.unused }

// mayHave reports whether an object of which nothing is known may have been evicted. Identifiers are given in the
// order in which objects are first used.
func (f *floor) mayHave(id event.ObjectID) bool { return id <= f.horizon }

// joinFloor draws the edges from what was evicted to the thread's next event.
func (a *Analysis) joinFloor(t *thread) {
	if t.floor != a.floor.times {
		t.floor = a.floor.times
		t.joinVector(&a.clocks, &a.floor.known)
	}
}

// Bounds of what Shrink leaves.
const (
	leastObjects   = 1 << 8  // variables, locks, other objects and ended threads below which none is evicted
	defaultReports = 1 << 13 // reports
)

// Shrink evicts half of the variables, half of the locks and half of the other objects, those that were not used for the
// longest time, except locks that are held and objects within whose operation a thread is; and of the threads that ended
// and were not joined the older half. It keeps their races, but from now on no more than Options.Reports in all. A race with an access of an evicted variable is missed, and so is one that only the edges hide which take
// the place of what was evicted. It returns the number of variables that it evicted, and whether it evicted anything.
func (a *Analysis) Shrink() (variables int, any bool) {
	before := a.floor.locks + a.floor.others + a.floor.ended
	a.found.room = a.opts.Reports
	a.dropReports()
	variables = a.evictVariables()
	a.evictLocks()
	a.evictOthers()
	a.evictEnded()
	if any = variables > 0 || a.floor.locks+a.floor.others+a.floor.ended > before; !any {
		return 0, false
	}
	a.evictInits()
	a.floor.times++
	a.clocks.trim()
	return variables, true
}

// dropReports drops reports if there are more than the room for them, down to half of it so that there is room for what
// comes. Those go first of whose pair of call stacks there are others, the later ones first; the counts of these are added
// to the last one that stays.
func (a *Analysis) dropReports() {
	f := &a.found
	if f.live+len(f.ended) <= f.room {
		return
	}
	all := slices.Clone(f.ended)
	for _, id := range slices.Sorted(maps.Keys(a.vars.all)) {
		all = append(all, a.vars.all[id].reports.order...)
	}
	keep, dropped := finding.Thin(all, func(r *report) pair { return r.pair }, f.room/2, func(to, from *report) { to.count += from.count })
	f.dropped += dropped
	a.keepReports(keep)
}

// keepReports drops all other reports.
func (a *Analysis) keepReports(keep map[*report]bool) {
	drop := func(r *report) bool { return !keep[r] }
	f := &a.found
	f.live, a.extra = 0, 0
	for _, v := range a.vars.all {
		rs := &v.reports
		rs.order = slices.DeleteFunc(rs.order, drop)
		maps.DeleteFunc(rs.of, func(_ pair, r *report) bool { return drop(r) })
		if rs.latest != nil && drop(rs.latest) {
			rs.latest = nil
		}
		f.live += len(rs.order)
		a.extra += max(0, len(rs.order)-a.opts.MaxPairs)
	}
	ended := f.ended
	f.ended, f.endedCounts = nil, map[pair]*endedCount{}
	for _, r := range ended {
		if !keep[r] {
			continue
		}
		d := f.endedCounts[r.pair]
		if d == nil {
			d = &endedCount{}
			f.endedCounts[r.pair] = d
		}
		d.n, d.last = d.n+1, r
		f.ended = append(f.ended, r)
	}
}

// raise makes the floor include an event, which it drops.
func (a *Analysis) raise(id event.ObjectID, k *mark) {
	a.floor.horizon = max(a.floor.horizon, id)
	joinMark(&a.floor.known, &a.clocks, k)
	k.drop(&a.clocks)
}

func (a *Analysis) evictVariables() (n int) {
	before := median(a.vars.all, func(v *variable) uint64 { return v.last.seq })
	for id, v := range a.vars.all {
		a.floor.horizon = max(a.floor.horizon, id)
		if v.last.seq >= before {
			continue
		}
		for _, xs := range [][]access{v.writes, v.reads} {
			for i := range xs {
				a.raise(id, &xs[i].mark)
			}
		}
		a.found.retire(v)
		a.extra -= max(0, len(v.reports.order)-a.opts.MaxPairs)
		a.vars.remove(id)
		n++
	}
	a.vars.rebuild(n)
	return n
}

func (a *Analysis) evictLocks() {
	n, before := 0, median(a.locks.all, func(l *lock) uint64 { return l.used })
	for id, l := range a.locks.all {
		a.floor.horizon = max(a.floor.horizon, id)
		if l.used >= before || l.exclusive || len(l.readers) > 0 {
			continue
		}
		a.raise(id, &l.write)
		a.raise(id, &l.holder)
		for _, ks := range []marks{l.reads, l.failed} {
			for i := range ks {
				a.raise(id, &ks[i])
			}
		}
		a.locks.remove(id)
		n++
	}
	a.locks.rebuild(n)
	a.floor.locks += uint64(n)
}

func (a *Analysis) evictOthers() {
	before := median(a.others.all, func(o *object) uint64 { return o.used })
	a.floor.unused = max(a.floor.unused, before)
	n := 0
	for id, o := range a.others.all {
		a.floor.horizon = max(a.floor.horizon, id)
		if o.used >= before || !o.order.Quiet() {
			continue
		}
		for i := range o.uses {
			a.raise(id, &o.uses[i])
		}
		a.matcher.Drop(&o.order)
		a.others.remove(id)
		n++
	}
	if n == 0 {
		return
	}
	for _, r := range a.matcher.Unused() {
		if int(r) < len(a.sets) {
			a.sets[r].one.drop(&a.clocks)
			a.sets[r] = eventSet{}
		}
	}
	a.others.rebuild(n)
	a.floor.others += uint64(n)
}

// evictEnded evicts the older half of the threads that have ended, were not joined, and whose slot another thread has.
func (a *Analysis) evictEnded() {
	if len(a.ended) <= leastObjects {
		return
	}
	ids := slices.Sorted(maps.Keys(a.ended))
	for _, id := range ids[:len(ids)/2] {
		joinMark(&a.floor.known, &a.clocks, a.ended[id])
		a.ended[id].drop(&a.clocks)
		delete(a.ended, id)
		a.floor.threads = max(a.floor.threads, id)
	}
	a.ended = maps.Collect(maps.All(a.ended))
	a.floor.ended += uint64(len(ids) / 2)
}

// evictInits evicts the initialisations of what was evicted, and those older than these of what was not used since.
func (a *Analysis) evictInits() {
	var unused []event.ObjectID
	for id := range a.inits {
		if a.vars.known(id) == nil && a.locks.known(id) == nil && a.others.known(id) == nil {
			unused = append(unused, id)
		}
	}
	slices.Sort(unused)
	for _, id := range unused[:len(unused)-min(len(unused), leastObjects)] {
		a.raise(id, a.inits[id])
		delete(a.inits, id)
	}
	inits := make(map[event.ObjectID]*mark, len(a.inits))
	for id, k := range a.inits {
		inits[id] = k
	}
	a.inits = inits
}

// median returns the median of the ages of objects; 0 if there are too few of them.
func median[T any](all map[event.ObjectID]*T, age func(*T) uint64) uint64 {
	if len(all) <= leastObjects {
		return 0
	}
	return oldest.Half(all, age)
}

// rebuild makes the table as small as what it has, after the removal of n objects: a map keeps the memory of what is
// deleted.
func (t *table[T]) rebuild(n int) {
	if n == 0 {
		return
	}
	all := make(map[event.ObjectID]*T, len(t.all))
	for id, x := range t.all {
		all[id] = x
	}
	t.all = all
}
