package property

import (
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// Judged is what this run says of a property of one object, in LTL₃.
type Judged struct {
	Property int // in ParametricOptions.Properties
	Value    uint64
	First    finding.Step // its first event
	Verdict  monitor.Verdict
	// Known is false if not all events and values of its word were recorded: the verdict has no meaning then.
	Known bool
	// Open means that the order of its word may not be that of the run, as accesses and their records are two moments.
	Open bool
	// Ended means that the object ended in the run, so that nothing follows.
	Ended bool
}

// judge lets the verdict on an object read a letter.
func (a *Parametric) judge(d *instance, l lattice.Letter) {
	if v := a.o.Properties[d.property].Verdicts; v != nil {
		d.at = v.Next(d.at, l)
	}
}

// judged passes on the verdict on an object that ends.
func (a *Parametric) judged(o *object) {
	d := &o.Data
	v := a.o.Properties[d.property].Verdicts
	if v == nil || !d.begun {
		return // Notes says how many have not begun.
	}
	a.o.Judged(&Judged{
		Property: d.property, Value: d.value, First: d.made, Verdict: v.Verdict(d.at), Ended: !a.over,
		Known: !a.lost && !d.unvalued && !d.skipped && d.unknown == 0, Open: d.open && o.Unordered(),
	})
}
