package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/engine"
	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/part"
	"github.com/tracepredict/tracepredict/analysis/verdict"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestRoom checks that findings keep to the room for them, that one at each call stack stays before a second one, and that
// what goes is counted.
func TestRoom(t *testing.T) {
	const races = 500
	var distinct, same strings.Builder
	for _, b := range []*strings.Builder{&distinct, &same} {
		b.WriteString("T0|fork(T1)|1\nT0|fork(T2)|2\n")
	}
	for i := range races {
		fmt.Fprintf(&distinct, "T1|w(x%[1]d)|%[2]d\nT2|w(x%[1]d)|%[3]d\n", i, 10+2*i, 11+2*i)
		fmt.Fprintf(&same, "T1|w(x%[1]d)|10\nT2|w(x%[1]d)|11\n", i)
	}
	const room = 100
	for _, c := range []struct {
		text   string
		room   uint64
		counts bool // those that are left count all
	}{
		{distinct.String(), 0, true}, {distinct.String(), room * finding.LeastBytes, false}, {same.String(), room * finding.LeastBytes, true},
	} {
		events, _, err := eventtest.ParseSTD(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		s := engine.New(engine.Options{Room: c.room})
		for i := range events {
			s.Event(&events[i])
		}
		found, b := finish(s, verdict.Run{}, part.Known{}), s.Bounds()
		count, bytes := 0, uint64(0)
		for i := range found {
			count, bytes = count+found[i].Count, bytes+found[i].Bytes()
		}
		lost := int(b.DroppedPairs + b.EvictedFindings)
		if c.counts != (count == races) || c.counts != (lost == 0) || c.room > 0 && bytes > c.room || len(found) == 0 {
			t.Errorf("room %d: %d findings of %d bytes, which count %d; %+v", c.room, len(found), bytes, count, b)
		}
	}
}
