package eventtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Case is one worked example: a run and what is expected of it.
type Case struct {
	Name   string
	Kind   string
	Events []event.Event // stamped
	Names  *Names
	// Index[i] is the position in Events of the first event made from event i of the
	// file; -1 if none was made (inner levels of a recursive lock, internal events).
	Index  []int
	Expect json.RawMessage // the file's expect; if it has none, the whole file
	// Executions are further runs, for files that hold many.
	Executions []Case
}

type caseFile struct {
	Name       string            `json:"name"`
	Kind       string            `json:"kind"`
	Events     []caseEvent       `json:"events"`
	Expect     json.RawMessage   `json:"expect"`
	Executions []json.RawMessage `json:"executions"`
}

type caseEvent struct {
	Thread string       `json:"thread"`
	Op     string       `json:"op"`
	Object string       `json:"object"`
	Value  *json.Number `json:"value"`
}

// ReadCase reads a worked example in JSON: name, kind, events (thread, op, object,
// value) and expect. In a file of several runs without expect, the outcome of a run is
// beside its events, and Expect is the whole JSON of that run.
func ReadCase(path string) (*Case, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read case: %w", err)
	}
	c, err := parseCase(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parseCase(text []byte) (*Case, error) {
	var f caseFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("parse case: %w", err)
	}
	c := &Case{Name: f.Name, Kind: f.Kind, Expect: f.Expect}
	if c.Expect == nil {
		c.Expect = text
	}
	if err := c.build(f.Events); err != nil {
		return nil, err
	}
	for i, run := range f.Executions {
		x, err := parseCase(run)
		if err != nil {
			return nil, fmt.Errorf("execution %d: %w", i, err)
		}
		c.Executions = append(c.Executions, *x)
	}
	return c, nil
}

// build sets Events, Names and Index from the events of a file.
func (c *Case) build(events []caseEvent) error {
	b := newBuilder()
	waits := impliedWaits(events)
	for i, e := range events {
		before := len(b.events)
		op := e.Op
		if op == "wait" && !b.holds(e.Thread, e.Object) {
			op = "return"
		}
		value, err := number(e.Value)
		if err == nil {
			err = b.add(e.Thread, op, e.Object, value)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		at := -1
		if len(b.events) > before {
			at = before
		}
		c.Index = append(c.Index, at)
		for _, cond := range waits[i] {
			b.wait(e.Thread, cond)
		}
	}
	Stamp(b.events)
	c.Events, c.Names = b.events, b.names
	return nil
}

// impliedWaits returns the conditions of the waits of which a file has only the return, by the
// index of the event after which each wait begins: the previous event of its thread. Files whose
// conditions are not locks have such waits.
func impliedWaits(events []caseEvent) map[int][]string {
	out := map[int][]string{}
	locks := map[string]bool{}
	last := map[string]int{}
	for i, e := range events {
		if e.Op == "acquire" {
			locks[e.Object] = true
		}
		if at, ok := last[e.Thread]; ok && e.Op == "wait" && !locks[e.Object] {
			out[at] = append(out[at], e.Object)
		}
		last[e.Thread] = i
	}
	return out
}

// number returns the value of an event; nil if it has none.
func number(n *json.Number) (*uint64, error) {
	if n == nil {
		return nil, nil
	}
	v, err := n.Int64()
	if err != nil {
		return nil, fmt.Errorf("value %q: %w", n.String(), err)
	}
	u := uint64(v)
	return &u, nil
}

// Cases reads the worked examples of the files that match a pattern; at least one file
// must match. Each run of a file that has several is a case, named by the file and its
// number.
func Cases(tb testing.TB, pattern string) []*Case {
	tb.Helper()
	var cases []*Case
	for _, path := range matches(tb, pattern) {
		c, err := ReadCase(path)
		if err != nil {
			tb.Fatal(err)
		}
		for i := range c.Executions {
			x := &c.Executions[i]
			x.Name = fmt.Sprintf("%s_%d", c.Name, i)
			cases = append(cases, x)
		}
		if len(c.Executions) == 0 {
			cases = append(cases, c)
		}
	}
	return cases
}

// matches returns the files that match a pattern. It fails the test if there are none.
func matches(tb testing.TB, pattern string) []string {
	tb.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no cases of %s: %v", pattern, err)
	}
	return paths
}
