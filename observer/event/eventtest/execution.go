package eventtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// Execution is a worked example of predictive monitoring: a run, of which some
// events are relevant.
type Execution struct {
	Case
	Threads  []event.ThreadID             // in the order of the clocks that are expected
	Objects  []event.ObjectID             // the relevant variables
	Initial  []int64                      // values of these variables before the first event
	Names    []string                     // names of these variables
	IDs      map[int]string               // of relevant events, by position in Events: as in the file, or else the number of the event in the file
	Property map[string]PropertyAutomaton // by name
	Variants []Variant
}

// PropertyAutomaton is a property as an automaton over atoms.
type PropertyAutomaton struct {
	Atoms     map[string]string `json:"atoms"`
	Automaton struct {
		Initial any      `json:"initial"`
		Bad     any      `json:"bad"`
		Edges   [][3]any `json:"edges"` // from, guard, to
	} `json:"automaton"`
}

// Variant is an execution made from its file with some parts replaced.
type Variant struct {
	Execution
	Label string
	// ReadClock is the clock of the variable that a read joins in Algorithm A: "write", or
	// "access", as the paper prints it.
	ReadClock string
	Expect    json.RawMessage // the variant's part of the file, with what is expected of it
}

type executionFile struct {
	Threads map[string]struct{ Index int } `json:"threads"`
	Initial map[string]int64               `json:"initial"`
	Events  []struct {
		caseEvent
		ID string `json:"id"`
	} `json:"events"`
	Relevant             relevant                     `json:"relevant"`
	Property             map[string]PropertyAutomaton `json:"property"`
	SynchronisationOrder *bool                        `json:"synchronisation_orders"`
	Executions           []json.RawMessage            `json:"executions"`
	Expect               struct {
		Variants []json.RawMessage `json:"variants"`
	} `json:"expect"`
}

// relevant selects the relevant events of a run.
type relevant struct {
	Objects []string `json:"objects"`
	Ops     []string `json:"ops"`
}

// ReadExecutions reads a worked example: one execution, or those of a file that
// holds many.
func ReadExecutions(path string) ([]Execution, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read execution: %w", err)
	}
	var f executionFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	texts := f.Executions
	if len(texts) == 0 {
		texts = []json.RawMessage{text}
	}
	var out []Execution
	for i, t := range texts {
		x, err := parseExecution(t, true)
		if err != nil {
			return nil, fmt.Errorf("%s: execution %d: %w", path, i, err)
		}
		out = append(out, *x)
	}
	return out, nil
}

func parseExecution(text []byte, variants bool) (*Execution, error) {
	var f executionFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("parse execution: %w", err)
	}
	events, ids := f.events()
	x := &Execution{IDs: map[int]string{}, Property: f.Property}
	x.Expect = text
	if err := x.build(events); err != nil {
		return nil, err
	}
	for i, id := range ids {
		if id != "" {
			x.IDs[x.Index[i]] = id
		}
	}
	x.name(&f)
	if variants {
		return x, x.addVariants(text, f.Expect.Variants)
	}
	return x, nil
}

// events returns the events that order others or are accesses, and the names of the
// relevant ones; "" for the others.
func (f *executionFile) events() (events []caseEvent, ids []string) {
	for i, e := range f.Events {
		if f.SynchronisationOrder != nil && !*f.SynchronisationOrder && e.Op != "read" && e.Op != "write" {
			continue
		}
		id := ""
		if slices.Contains(f.Relevant.Ops, e.Op) && slices.Contains(f.Relevant.Objects, e.Object) {
			id = e.ID
			if id == "" {
				id = fmt.Sprint(i)
			}
		}
		events, ids = append(events, e.caseEvent), append(ids, id)
	}
	return events, ids
}

// name sets the threads and the relevant variables.
func (x *Execution) name(f *executionFile) {
	x.Threads = make([]event.ThreadID, len(f.Threads))
	for name, t := range f.Threads {
		x.Threads[t.Index-1] = x.Case.Names.Thread(name)
	}
	for _, name := range f.Relevant.Objects {
		x.Objects = append(x.Objects, x.Case.Names.object(name))
		x.Initial = append(x.Initial, f.Initial[name])
		x.Names = append(x.Names, name)
	}
}

// addVariants adds the variants, each made by replacing parts of the file.
func (x *Execution) addVariants(text []byte, variants []json.RawMessage) error {
	for i, v := range variants {
		var head struct {
			Label     string                     `json:"label"`
			ReadClock string                     `json:"read_clock"`
			Replace   map[string]json.RawMessage `json:"replace"`
		}
		whole := map[string]json.RawMessage{}
		if err := json.Unmarshal(v, &head); err != nil {
			return fmt.Errorf("variant %d: %w", i, err)
		}
		if err := json.Unmarshal(text, &whole); err != nil {
			return fmt.Errorf("variant %d: %w", i, err)
		}
		for k, r := range head.Replace {
			whole[k] = r
		}
		changed, err := json.Marshal(whole)
		if err != nil {
			return fmt.Errorf("variant %d: %w", i, err)
		}
		other, err := parseExecution(changed, false)
		if err != nil {
			return fmt.Errorf("variant %d: %w", i, err)
		}
		x.Variants = append(x.Variants, Variant{*other, head.Label, head.ReadClock, v})
	}
	return nil
}

// Executions reads the executions of the files that match a pattern, by the file's
// name. At least one file must match.
func Executions(tb testing.TB, pattern string) map[string][]Execution {
	tb.Helper()
	out := map[string][]Execution{}
	for _, path := range matches(tb, pattern) {
		xs, err := ReadExecutions(path)
		if err != nil {
			tb.Fatal(err)
		}
		out[filepath.Base(path)] = xs
	}
	return out
}
