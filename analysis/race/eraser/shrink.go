package eraser

import (
	"maps"
	"slices"

	"github.com/tracepredict/tracepredict/internal/oldest"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Bounds of what Shrink leaves.
const (
	leastVariables = 1 << 8  // variables below which none is evicted
	leastObjects   = 1 << 10 // objects of publication below which none is evicted
	keptReports    = 1 << 13 // reports on variables whose lifetime ended, or which were evicted
)

// Shrink evicts half of the variables, those that were not accessed for the longest time, and keeps their reports, but
// from now on no more than 8,192 on variables that were evicted or destroyed. An evicted variable that is accessed
// again counts as new, so that a pair with an access from before is missed. It returns the number of variables that it
// evicted.
func (a *Analysis) Shrink() (evicted int) {
	a.reportRoom = keptReports
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
