package bind

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/analysis/spec"
	"github.com/tracepredict/tracepredict/observer/lattice"
)

// verdict is what the observed run says of a property that no finite run may decide, in LTL₃.
type verdict struct {
	property *spec.Property
	index    int // in property.Options
	monitor  *monitor.ThreeValued
	at       monitor.Pair
}

func newVerdict(p *spec.Property, index int) (*verdict, error) {
	m, err := threeValued(p)
	if err != nil {
		return nil, err
	}
	return &verdict{p, index, m, m.Start()}, nil
}

// threeValued returns the monitor of a property in LTL₃.
func threeValued(p *spec.Property) (*monitor.ThreeValued, error) {
	m, err := monitor.FromLTL3(p.Formula, monitor.Options{})
	if err != nil {
		return nil, fmt.Errorf("make the monitor of property %s in three values: %w", p.Name, err)
	}
	return m, nil
}

// read processes the next letter of the run.
func (v *verdict) read(l lattice.Letter) { v.at = v.monitor.Next(v.at, l) }

// note says what the verdict is at the end of the run, of which all that matters was recorded or not. Open means that the order
// of the run may not be that of the records.
func (v *verdict) note(recorded, open bool) string {
	if !recorded {
		return fmt.Sprintf("property %s: whether it is true of this run is not known, since not all events and values were recorded", v.property.Name)
	}
	note := fmt.Sprintf("property %s: of this run it is %s", v.property.Name, map[monitor.Verdict]string{
		monitor.True:    "true: it holds, whatever would follow",
		monitor.False:   "false: it is violated, whatever would follow",
		monitor.Unknown: "unknown: what would follow decides",
	}[v.monitor.Verdict(v.at)])
	if open {
		note += "; that is so in the order of the records, and nothing shows that the accesses came in it"
	}
	return note
}
