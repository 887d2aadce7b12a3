package jsonreport

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/analysis/report/reporttest"
	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
	"github.com/tracepredict/tracepredict/observer/event"
)

// written is a JSON report with its call stacks.
type written struct {
	Findings []struct {
		Evidence   []writtenStep
		Witness    []writtenStep
		ObjectInfo []jsonObject `json:"object_info"`
		ThreadInfo []jsonThread `json:"thread_info"`
	}
	Stacks [][]int
	Frames []event.Frame
}

type writtenStep struct {
	jsonStack
	Held []struct{ jsonStack }
}

func readBack(t testing.TB, r report.Report) written {
	t.Helper()
	var w written
	if err := json.Unmarshal(writeJSON(t, r), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestTablesAlone checks that what WriteTables writes is what Write does, but for the inner frames and for empty lists of locks,
// and that the tables have these frames.
func TestTablesAlone(t *testing.T) {
	without := 0
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(reporttest.DrawFinding), 0, 4).Draw(rt, "findings")
		r := report.Build(reporttest.ShopRun(), all, reporttest.ShopTable())
		var whole, tables map[string]any
		for text, to := range map[*map[string]any][]byte{&whole: writeJSON(t, r), &tables: writeTables(t, r)} {
			if err := json.Unmarshal(to, text); err != nil {
				rt.Fatal(err)
			}
		}
		own, names := tables["own_frames"].([]any), tables["names"].([]any)
		delete(tables, "own_frames")
		delete(tables, "names")
		for _, f := range tables["frames"].([]any) {
			frame := f.(map[string]any)
			for _, name := range []string{"function", "file", "module"} {
				frame[name] = names[int(frame[name].(float64))]
			}
		}
		w := withoutFrames{tables: tables, own: own}
		if d := cmp.Diff(w.reduced(whole), any(tables)); d != "" {
			rt.Fatalf("-reduced +tables:\n%s", d)
		}
		if w.wrong != "" {
			rt.Fatal(w.wrong)
		}
		without += w.left
	})
	if without == 0 {
		t.Error("no frames were left out")
	}
}

// withoutFrames takes the frames out of what Write has written, and looks for them in the tables.
type withoutFrames struct {
	tables map[string]any
	own    []any
	left   int    // frames that were taken out
	wrong  string // what the tables do not have
}

func (w *withoutFrames) reduced(v any) any {
	switch v := v.(type) {
	case []any:
		return each(v, w.reduced)
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			out[name] = w.reduced(member)
		}
		for _, name := range []string{"stack", "initialised", "first_seen", "allocated", "created"} {
			if frames, ok := v[name].([]any); ok {
				w.look(frames, v[name+"_id"])
				delete(out, name)
			}
		}
		if at, ok := v["own_frame"]; ok {
			if id := int(v["stack_id"].(float64)); w.own[id] != at {
				w.wrong = fmt.Sprintf("own_frames of stack %d is %v, want %v", id, w.own[id], at)
			}
			delete(out, "own_frame")
		}
		if held, ok := v["held"].([]any); ok && len(held) == 0 {
			delete(out, "held")
		}
		return out
	}
	return v
}

// look compares inner frames with those of a stack in the tables.
func (w *withoutFrames) look(frames []any, id any) {
	w.left += len(frames)
	stack := w.tables["stacks"].([]any)[int(id.(float64))].([]any)
	for i, f := range frames {
		if d := cmp.Diff(f, w.tables["frames"].([]any)[int(stack[i].(float64))]); d != "" {
			w.wrong = "a frame -in the step +in the table:\n" + d
		}
	}
}

// framesOf returns the frames of the stack with a number.
func (w *written) framesOf(id int) []event.Frame {
	return each(w.Stacks[id], func(f int) event.Frame { return w.Frames[f] })
}

// deepTable returns shopTable with stack 1 replaced by one of the given depth, whose innermost
// frames are those of a library.
func deepTable(depth, library int) reporttest.Table {
	t := reporttest.ShopTable()
	var frames []event.Frame
	for i := range library {
		frames = append(frames, event.Frame{Function: fmt.Sprintf("libfn%d", i), Module: "/lib/libc.so.6"})
	}
	for i := range depth - library {
		frames = append(frames, reporttest.Src(fmt.Sprintf("f%d", i), "/home/u/shop/shop.c", 100+i))
	}
	t.Stacks[1] = frames
	return t
}

// TestStacksOfSides checks that a side has up to 16 frames, and a step of a schedule those up
// to the one with index own_frame; both always have at least these. The number of the stack
// leads to all frames.
func TestStacksOfSides(t *testing.T) {
	for _, c := range []struct{ depth, library, side, step int }{
		{1, 0, 1, 1}, {16, 2, 16, 3}, {17, 2, 16, 3}, {64, 0, 16, 1}, {64, 20, 21, 21},
	} {
		r := report.Build(reporttest.ShopRun(), []finding.Finding{reporttest.Deadlock(reporttest.Ledger, reporttest.Till)}, deepTable(c.depth, c.library))
		w := readBack(t, r)
		side, step := w.Findings[0].Evidence[0].Held[0], w.Findings[0].Witness[3]
		for _, s := range []struct {
			jsonStack
			want int
		}{{side.jsonStack, c.side}, {step.jsonStack, c.step}} {
			whole := w.framesOf(s.ID)
			if len(s.Inner) != s.want || len(whole) != c.depth || int(s.At) != c.library {
				t.Errorf("%+v: %d frames, of %d, frame %d is the program's", c, len(s.Inner), len(whole), s.At)
			} else if diff := cmp.Diff(whole[:s.want], s.Inner); diff != "" {
				t.Errorf("%+v (-table +step):\n%s", c, diff)
			}
		}
	}
}

// TestStacksAreDistinct checks that each frame and each stack is in the tables once, even if
// several steps have it, and that each is referred to.
func TestStacksAreDistinct(t *testing.T) {
	names := reporttest.ShopTable()
	names.Stacks[2] = append([]event.Frame(nil), names.Stacks[1]...)
	names.Stacks[2][0].Addr++ // JSON omits addresses
	w := readBack(t, report.Build(reporttest.ShopRun(), reporttest.All(), names))
	stacks, frames := map[string]bool{}, map[event.Frame]bool{}
	for _, s := range w.Stacks {
		stacks[fmt.Sprint(s)] = true
	}
	for _, f := range w.Frames {
		frames[f] = true
	}
	if len(stacks) != len(w.Stacks) || len(frames) != len(w.Frames) {
		t.Errorf("%d different stacks of %d, %d different frames of %d", len(stacks), len(w.Stacks), len(frames), len(w.Frames))
	}
	used := map[int]bool{0: true}
	for _, f := range w.Findings {
		for _, s := range append(f.Evidence, f.Witness...) {
			used[s.ID] = true
			for _, h := range s.Held {
				used[h.ID] = true
			}
		}
		for _, o := range f.ObjectInfo {
			used[o.InitID], used[o.FirstID] = true, true
		}
		for _, th := range f.ThreadInfo {
			used[th.CreatedID] = true
		}
	}
	for id := range w.Stacks {
		if !used[id] {
			t.Errorf("nothing refers to stack %d: %v", id, w.framesOf(id))
		}
	}
}

// TestStackNumbers checks that stacks get the same number if their frames are equal in JSON,
// and that the number leads back to the stack.
func TestStackNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frame := rapid.Custom(func(t *rapid.T) event.Frame {
			return event.Frame{
				Function: rapid.SampledFrom([]string{"", "f", "g"}).Draw(t, "function"),
				Line:     rapid.IntRange(0, 2).Draw(t, "line"), Addr: rapid.Uint64Range(0, 2).Draw(t, "address"),
			}
		})
		c, numbers := newStacks(0), map[string]int{}
		for _, frames := range rapid.SliceOf(rapid.SliceOfN(frame, 0, 3)).Draw(t, "stacks") {
			want := each(frames, func(f event.Frame) event.Frame { f.Addr = 0; return f })
			id, text := c.id(report.Stack{Frames: frames}), fmt.Sprint(want)
			if diff := cmp.Diff(want, each(c.stacks[id], func(f int) event.Frame { return c.frames[f] })); diff != "" {
				t.Fatalf("stack %d (-want +got):\n%s", id, diff)
			}
			if old, seen := numbers[text]; seen && old != id {
				t.Fatalf("%s is %d and %d", text, old, id)
			}
			numbers[text] = id
		}
	})
}
