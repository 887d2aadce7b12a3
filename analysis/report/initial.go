package report

import (
	"fmt"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Initial is a variable of a property before the first event of the run.
type Initial struct {
	finding.Initial
	Text string // its value, as the source writes it
}

func (b *builder) initial(v finding.Initial) Initial {
	s := Step{Step: finding.Step{Flags: event.HasValue, Value: v.Value}}
	if v.Object != 0 {
		s.Object = b.object(v.Object)
	}
	v.Name = Clean(v.Name)
	return Initial{v, s.ValueText()}
}

// String returns the variable and its value in words, as "water = 31".
func (v Initial) String() string {
	text := v.Name + " = " + v.Text
	if !v.Known {
		text += " (not recorded: 0 is assumed)"
	}
	return text
}

// SubjectText returns a sentence, without its full stop, on the object that a property is of; "" if it is of none.
func (n Names) SubjectText(f *Finding) string {
	if f.First == nil {
		return ""
	}
	return fmt.Sprintf("It is of the object %s, first seen%s (T%d)", subjectValue(f.Subject), n.in(f.First.Stack), f.First.Thread)
}

// InitialText returns a sentence, without its full stop, for a finding of the state before any event.
func InitialText(f *Finding) string {
	return "No event was needed: the state before any event is bad" + propositions(f.InitialTruth)
}
