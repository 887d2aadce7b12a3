package eraser

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/oldest"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Bounds of what Shrink leaves.
const (
	leastVariables = 1 << 8  // variables below which none is evicted
	leastObjects   = 1 << 10 // objects of publication below which none is evicted
	defaultReports = 1 << 13 // reports
)

// Shrink evicts half of the variables, those that were not accessed for the longest time, and keeps their reports, but
// from now on no more than Options.Reports in all. An evicted variable that is accessed again counts as new, so that a
// pair with an access from before is missed. It returns the number of variables that it evicted.
func (a *Analysis) Shrink() (evicted int) {
	a.reportRoom = a.opts.Reports
	a.dropReports()
	a.publication.shrink()
	a.sets.shrink()
	if len(a.vars) <= leastVariables {
		return 0
	}
	before := oldest.Half(a.vars, (*variable).age)
	for id, v := range a.vars {
		if v.age() < before {
			a.retire(id)
			evicted++
		}
	}
	a.vars = maps.Collect(maps.All(a.vars)) // a map keeps the memory of what is deleted
	clear(a.variableCache[:])
	a.compact()
	return evicted
}

// dropReports drops reports if there are more than the room for them, down to half of it so that there is room for what
// comes. Those go first of whose pair of call stacks there are others, the later ones first; the counts of these are added
// to the last one that stays.
func (a *Analysis) dropReports() {
	if a.liveReports+len(a.retiredReports) <= a.reportRoom {
		return
	}
	all := slices.Clone(a.retiredReports)
	for _, id := range slices.Sorted(maps.Keys(a.vars)) {
		all = append(all, a.vars[id].order...)
	}
	keep, dropped := finding.Thin(all, (*raceReport).key, a.reportRoom/2, func(to, from *raceReport) { to.count += from.count })
	a.stats.DroppedPairs += dropped
	a.keepReports(keep)
}

// keepReports drops all other reports.
func (a *Analysis) keepReports(keep map[*raceReport]bool) {
	drop := func(r *raceReport) bool { return !keep[r] }
	a.liveReports, a.extraPairs = 0, 0
	for _, v := range a.vars {
		v.order = slices.DeleteFunc(v.order, drop)
		maps.DeleteFunc(v.pairs, func(_ pairKey, r *raceReport) bool { return drop(r) })
		a.liveReports += len(v.order)
		a.extraPairs += max(0, len(v.order)-a.opts.MaxPairs)
	}
	retired := a.retiredReports
	a.retiredReports, a.retired = nil, map[retiredKey]*retiredCount{}
	for _, r := range retired {
		if !keep[r] {
			continue
		}
		d := a.retired[r.key()]
		if d == nil {
			d = &retiredCount{}
			a.retired[r.key()] = d
		}
		d.n, d.last = d.n+1, r
		a.retiredReports = append(a.retiredReports, r)
	}
	a.fresh = slices.DeleteFunc(a.fresh, drop)
}

// age returns the Seq of the latest access that is known.
func (v *variable) age() uint64 {
	if v.last == nil {
		return 0
	}
	return v.last.seq
}

// shrink evicts the older half of the objects.
func (p *publication) shrink() {
	if len(p.objects) <= leastObjects {
		return
	}
	ids := slices.Sorted(maps.Keys(p.objects))
	objects := make(map[event.ObjectID]*event.Clock, len(ids)/2+1)
	for i, id := range ids {
		if i < len(ids)/2 {
			p.floor.Join(p.objects[id])
		} else {
			objects[id] = p.objects[id]
		}
	}
	p.objects = objects
}

// shrink frees the results of operations.
func (t *table) shrink() {
	t.added, t.refined = map[addKey]setID{}, map[refineKey]setID{}
	t.exclusions, t.common = map[[2]setID]bool{}, map[[2]setID]setID{}
}
