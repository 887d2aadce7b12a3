package replay

import (
	"errors"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/execution"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/trace/std"
)

type refusing struct{}

func (refusing) CheckClaim([]finding.Step, execution.Claim) ([]uint64, error) {
	return nil, errors.New("no")
}

// TestRefusedWitnessesAreNoted: a schedule that was found and that the checker refuses is in the notes,
// in the figures and among the pruned candidates, whether these are requested or not; one that
// the checker accepts is in the figures alone.
func TestRefusedWitnessesAreNoted(t *testing.T) {
	const text = "T1|acq(a)|1\nT1|acq(b)|2\nT1|rel(b)|3\nT1|rel(a)|4\nT2|acq(b)|5\nT2|acq(a)|6\nT2|rel(a)|7\nT2|rel(b)|8\n"
	for _, mistaken := range []bool{false, true} {
		o := Options{Engine: engine.Options{Explain: true}, Stats: true}
		if mistaken {
			o.Engine.NewChecker = func([]event.Event) execution.Checker { return refusing{} }
		}
		rep, err := Report(std.NewReader(strings.NewReader(text), "text", std.ReaderOptions{}), o)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(rep.Run.Notes, "\n")
		if got := strings.Contains(notes, "the checker of witnesses refused "); got != mistaken {
			t.Errorf("mistaken %v: notes %q", mistaken, notes)
		}
		if w := rep.Stats.Witnesses; w.Checked == 0 || w.Refused != 0 && !mistaken || w.Refused != w.Checked && mistaken {
			t.Errorf("mistaken %v: %+v", mistaken, w)
		}
		if len(rep.Findings) != 1 || (rep.Findings[0].Confidence == finding.Predicted) == mistaken {
			t.Errorf("mistaken %v: found %+v", mistaken, rep.Findings)
		}
		if mistaken != (len(rep.Pruned) == 1 && strings.Contains(rep.Pruned[0].Message, "an error of tracepredict")) {
			t.Errorf("mistaken %v: dropped %+v", mistaken, rep.Pruned)
		}
	}
}
