package verdict

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// TestUnexaminedSpans: a reason for doubt names no thread that does not exist.
func TestUnexaminedSpans(t *testing.T) {
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Predicted, Assumes: []string{finding.GuardedData}, Spans: []finding.Span{{}}}
	if why := guardedData(&f, answers{}, false, &run.Names{}); why.What != reason.SectionsUnexamined {
		t.Errorf("%+v", why)
	}
}

// TestImportedRunHasAllAccesses: nothing is assumed of sections of a run all of whose accesses are known.
func TestImportedRunHasAllAccesses(t *testing.T) {
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Predicted, Assumes: []string{finding.GuardedData, finding.RaceFree}, Spans: []finding.Span{{}}}
	if why := guardedData(&f, nil, false, &run.Names{}); why.Given() || len(f.Assumes) != 1 || f.Assumes[0] != finding.RaceFree {
		t.Errorf("%+v, assumes %v", why, f.Assumes)
	}
}

// named is a run.Namer of one object.
type named struct {
	run.Namer
	object run.Object
}

func (n named) Object(event.ObjectID) run.Object { return n.object }

// TestFixed: the code has the address of a variable of static storage, but not that of an element of an array, or of
// an object that a pointer leads to.
func TestFixed(t *testing.T) {
	f := finding.Finding{Kind: finding.Race, Objects: []event.ObjectID{1}}
	for _, c := range []struct {
		object run.Object
		want   bool
	}{
		{run.Object{Kind: event.KindVariable, Name: "server.hits"}, true},
		{run.Object{Kind: event.KindVariable, Name: "slots[3].state"}, false},
		{run.Object{Kind: event.KindVariable}, false},
		{run.Object{Kind: event.KindField, Name: "struct conn.state"}, false},
	} {
		if got := isFixed(&f, named{object: c.object}); got != c.want {
			t.Errorf("%+v: %v", c.object, got)
		}
	}
}
