package engine

import (
	"github.com/tracepredict/tracepredict/analysis/bind"
	"github.com/tracepredict/tracepredict/analysis/deadlock"
	"github.com/tracepredict/tracepredict/analysis/hang"
	"github.com/tracepredict/tracepredict/analysis/misuse"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/race"
	"github.com/tracepredict/tracepredict/analysis/report"
)

// parts are the parts of a run.
type parts struct {
	all  []part.Part
	by   [part.Again + 1][]part.Part // those that get an event, by what it needs
	hang *hang.Part
	race *race.Analysis
}

// newParts returns the parts of a run that has not begun. Their order is that in which they get an event and settle their
// candidates: what is sought first has more of the budgets.
func newParts(shared *part.Shared, o *Options) (p parts) {
	p.hang = hang.NewPart(o.OnHangOver)
	p.race = race.New(shared, race.Options{Uses: o.Uses})
	p.all = []part.Part{
		p.hang,
		deadlock.New(shared, o.deadlocks()),
		p.race,
		misuse.NewPart(shared, o.Misuse),
	}
	if o.Specification != nil {
		p.all = append(p.all, bind.NewPart(o.Specification))
	}
	for _, needs := range eventNeeds {
		for _, one := range p.all {
			if takes(one, needs) {
				p.by[needs] = append(p.by[needs], one)
			}
		}
	}
	return p
}

// eventNeeds are what an event may need of a part.
var eventNeeds = [...]part.Needs{0, part.Calls, part.Misuses, part.Again}

// takes reports whether a part takes events of this need.
func takes(p part.Part, needs part.Needs) bool { return p.Needs()&needs == needs }

// deadlocks returns the options of the part that finds deadlocks.
func (o *Options) deadlocks() deadlock.Options {
	out := deadlock.Options{Locks: o.Locks, Found: o.OnDeadlock}
	if o.LockClasses && o.Names != nil {
		out.Class = report.ClassOf(o.Names)
	}
	return out
}
