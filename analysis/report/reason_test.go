package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// whats returns the constants of type reason.What, in the order of their source.
func whats(t *testing.T) (all []reason.What) {
	file, err := parser.ParseFile(token.NewFileSet(), "../finding/reason/reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, reason.What(text))
		}
		return true
	})
	return all
}

// TestEachReasonHasASentence: no two reasons have the same sentence, none has a field left in it, and each sentence is of a
// reason.
func TestEachReasonHasASentence(t *testing.T) {
	all, seen := whats(t), map[string]reason.What{}
	for _, what := range all {
		r := reason.Reason{What: what, Thread: 2, Other: 3, Words: "words of " + string(what), Of: &reason.Reason{What: reason.HeldBefore, Thread: 4}}
		got := newBuilder(nil).reason(&r)
		if got == "" || strings.ContainsAny(got, "${%") {
			t.Errorf("%s: %q", what, got)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s: %q", what, other, got)
		}
		seen[got] = what
	}
	if len(all) != len(sentences) || len(all) < 50 {
		t.Errorf("%d reasons, %d sentences", len(all), len(sentences))
	}
}

// frames is a run.Namer of call stacks.
type frames struct {
	run.Names
	of map[event.StackID][]event.Frame
}

func (f *frames) Frames(id event.StackID) []event.Frame { return f.of[id] }

// TestReasonNames: names, places and counts are in their forms, and what looks like a field in a name stays.
func TestReasonNames(t *testing.T) {
	names := &frames{of: map[event.StackID][]event.Frame{1: {{File: "/src/pump.c", Line: 12, Function: "fill"}}, 2: {{Function: "fill"}}}}
	head := names.AddObject(run.Object{Name: "$thread"})
	heap := names.AddObject(run.Object{Addr: 0x1000, Member: "struct pair.a"})
	bare := names.AddObject(run.Object{Addr: 0x1000})
	sided := func(others bool, ids ...event.ThreadID) reason.Reason {
		return reason.Reason{What: reason.Unseen, Words: "p", Threads: ids, Others: others}
	}
	for _, c := range []struct {
		reason reason.Reason
		begins string
	}{
		{reason.Reason{}, ""},
		{reason.Reason{What: reason.WriteMissing, Thread: 3, Object: head, Stack: 1}, "T3 read a value of $thread at pump.c:12 that no"},
		{reason.Reason{What: reason.OtherValue, Thread: 3, Stack: 2}, "in this schedule T3 reads another value of a variable in fill than"},
		{reason.Reason{What: reason.PostMissing, Thread: 3}, "T3 got past its wait for a semaphore although"},
		{reason.Reason{What: reason.MemoryFreed, Object: heap}, "the memory of struct pair.a may"},
		{reason.Reason{What: reason.MemoryFreed, Object: bare}, "the memory of the lock at 0x1000 may"},
		{reason.Reason{What: reason.CallsNotFollowed, Count: 1}, "1 call could not be followed to its return, and it may"},
		{reason.Reason{What: reason.CallsNotFollowed, Count: 2}, "2 calls could not be followed to their return, and one may"},
		{reason.Reason{What: reason.SearchEnded, Count: 9, Length: 4}, "the search for cycles of locks ended after 9 steps, at cycles of 4 threads"},
		{reason.Reason{What: reason.NotShown, Of: &reason.Reason{What: reason.OneThread}}, "no schedule is shown: one thread alone cannot do it"},
		{reason.Noted("100 %d of $words"), "100 %d of $words"},
		{sided(true), "some threads synchronised unobserved (p), which"},
		{sided(true, 3), "T3 and perhaps others synchronised"},
		{sided(true, 1, 2), "T1, T2 and perhaps others synchronised"},
		{sided(false, 1, 2), "T1 and T2 synchronised"},
		{sided(false, 1, 2, 3, 4, 5, 6), "T1, T2, T3, T4 and 2 more synchronised"},
	} {
		if got := newBuilder(names).reason(&c.reason); !strings.HasPrefix(got, c.begins) || c.begins == "" && got != "" {
			t.Errorf("%q, want %q", got, c.begins)
		}
	}
}
