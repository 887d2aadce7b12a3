package causality_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/observer/causality"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// message is a message that Algorithm A sends.
type message struct {
	ID    string   `json:"id"`
	Event int      `json:"event"`
	DVC   []uint32 `json:"dvc"`
}

type expected struct {
	Clocks   [][]uint32        `json:"clocks"`
	Messages []message         `json:"messages"`
	Order    []json.RawMessage `json:"order"`
}

// stampedRun holds the clocks of a run, which ByThread converts to those of the paper.
type stampedRun struct {
	eventtest.ThreadClocks
	clocks []causality.Clock // after each event
	raw    *causality.Clocks
}

func stampRun(events []event.Event, relevant func(i int) bool) *stampedRun {
	s := &stampedRun{raw: causality.New()}
	for i := range events {
		r := relevant(i)
		slot, v := s.raw.Stamp(&events[i], r)
		if r {
			s.Add(events[i].Thread, slot, v[slot])
		}
		s.clocks = append(s.clocks, append(causality.Clock(nil), v...))
	}
	return s
}

func executions(t *testing.T) map[string][]eventtest.Execution {
	t.Helper()
	xs := eventtest.Executions(t, "../lattice/testdata/jmpax/*.json")
	if len(xs) < 30 {
		t.Fatalf("%d cases", len(xs))
	}
	return xs
}

func TestClocksOfTheCases(t *testing.T) {
	for name, xs := range executions(t) {
		t.Run(name, func(t *testing.T) {
			for i := range xs {
				checkClocks(t, &xs[i])
			}
		})
	}
}

func checkClocks(t *testing.T, x *eventtest.Execution) {
	t.Helper()
	var want struct {
		Expect expected `json:"expect"`
	}
	if err := json.Unmarshal(x.Expect, &want); err != nil {
		t.Fatal(err)
	}
	s := stampRun(x.Events, func(i int) bool { return x.IDs[i] != "" })
	for i, at := range x.Index {
		if i < len(want.Expect.Clocks) && at >= 0 {
			if diff := cmp.Diff(want.Expect.Clocks[i], s.ByThread(s.clocks[at], x.Threads)); diff != "" {
				t.Errorf("after event %d: %s", i, diff)
			}
		}
	}
	if want.Expect.Messages != nil {
		checkMessages(t, x, s, want.Expect.Messages)
	}
	for _, v := range x.Variants {
		var head struct {
			Messages []message `json:"messages"`
		}
		if err := json.Unmarshal(v.Expect, &head); err != nil {
			t.Fatal(err)
		}
		if v.ReadClock == "write" && head.Messages != nil {
			checkMessages(t, &v.Execution, stampRun(v.Events, func(i int) bool { return v.IDs[i] != "" }), head.Messages)
		}
	}
}

func checkMessages(t *testing.T, x *eventtest.Execution, s *stampedRun, want []message) {
	t.Helper()
	byID := map[string][]uint32{}
	for i, id := range x.IDs {
		byID[id] = s.ByThread(s.clocks[i], x.Threads)
	}
	if len(byID) != len(want) {
		t.Errorf("%d messages, want %d", len(byID), len(want))
	}
	for _, m := range want {
		id := m.ID
		if id == "" {
			id = strconv.Itoa(m.Event)
		}
		if diff := cmp.Diff(m.DVC, byID[id]); diff != "" {
			t.Errorf("message of %s: %s", id, diff)
		}
	}
}
