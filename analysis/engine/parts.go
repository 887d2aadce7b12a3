package engine

import (
	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/deadlock"
	"github.com/tracepredict/tracepredict/analysis/hang"
	"github.com/tracepredict/tracepredict/analysis/missed"
	"github.com/tracepredict/tracepredict/analysis/misuse"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/race"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// parts are the parts of a run.
type parts struct {
	all  []part.Part
	by   routes[part.Part]
	hang *hang.Part
	race *race.Analysis
}

// newParts returns the parts of a run that has not begun. Their order is that in which they get an event and settle their
// candidates: what is sought first has more of the budgets.
func newParts(shared *part.Shared, o *Options) (p parts) {
	p.hang = hang.NewPart(o.OnHangOver)
	p.race = race.New(shared, race.Options{Uses: o.Uses, Most: o.most()})
	p.all = []part.Part{
		p.hang,
		deadlock.New(shared, o.deadlocks()),
		p.race,
		misuse.NewPart(shared, o.Misuse),
		missed.NewPart(shared),
	}
	if o.Specification != nil {
		p.all = append(p.all, bind.NewPart(o.Specification, shared))
	}
	for _, one := range p.all {
		p.by.add(one.Needs(), one)
	}
	return p
}

// routes has, by what an event needs (needsOf), those that get it.
type routes[T any] [part.Again + 1][]T

// add adds one that takes the events which all get, and those that it needs.
func (r *routes[T]) add(takes part.Needs, one T) {
	for needs := range r {
		if takes&part.Needs(needs) == part.Needs(needs) {
			r[needs] = append(r[needs], one)
		}
	}
}

// deadlocks returns the options of the part that finds deadlocks.
func (o *Options) deadlocks() deadlock.Options {
	out := deadlock.Options{Locks: o.Locks, Found: o.OnDeadlock}
	if o.LockClasses && o.Names != nil {
		out.Class = report.ClassOf(o.Names)
	}
	return out
}
