package ownlocks

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
	"github.com/tracepredict/tracepredict/observer/event"
)

// history feeds a Finder the events of threads, a microsecond apart.
type history struct {
	*Finder
	time  uint64
	found []int
}

// newHistory returns a history whose call stack n is one of module n, known from the beginning.
func newHistory() *history {
	h := &history{}
	h.Finder = New(Options{
		Module: func(id event.StackID) (int, bool) { return int(id), true },
		Found:  func(m int, _ []event.StackID) { h.found = append(h.found, m) },
	})
	return h
}

func (h *history) do(t event.ThreadID, op event.Op, object event.ObjectID, stack event.StackID) {
	h.time += 1000
	h.Event(&event.Event{Thread: t, Op: op, Object: object, Stack: stack, Time: h.time})
}

// section is a section with events of its own in it.
func (h *history) section(t event.ThreadID, object event.ObjectID, module event.StackID, within ...event.Op) {
	h.do(t, event.Acquire, object, module)
	for _, op := range within {
		h.do(t, op, 99, 0)
	}
	h.do(t, event.Release, object, 0)
}

// TestFound feeds many sections of module 1, in each history with something else.
func TestFound(t *testing.T) {
	for name, c := range map[string]struct {
		also  func(h *history, i int)
		found bool
	}{
		"alone":                 {func(*history, int) {}, true},
		"by two threads":        {func(h *history, _ int) { h.section(2, 5, 1) }, true},
		"beside another module": {func(h *history, i int) { h.section(1, 6, 2, event.Write) }, true},
		"once with an access":   {func(h *history, i int) { only(i, func() { h.section(1, 5, 1, event.Read) }) }, false},
		"once with a call":      {func(h *history, i int) { only(i, func() { h.section(1, 5, 1, event.Call) }) }, false},
		"once with a signal":    {func(h *history, i int) { only(i, func() { h.section(1, 5, 1, event.Signal) }) }, false},
		"once with a wait for a condition": {func(h *history, i int) {
			only(i, func() {
				h.do(1, event.Acquire, 5, 1)
				h.Event(&event.Event{Thread: 1, Op: event.Release, Object: 5, Flags: event.InCondWait, Time: h.time})
			})
		}, false},
		"once around another module": {func(h *history, i int) { only(i, func() { h.nest(1, 2) }) }, false},
		"once in another module":     {func(h *history, i int) { only(i, func() { h.nest(2, 1) }) }, false},
		"once around itself":         {func(h *history, i int) { only(i, func() { h.nest(1, 1) }) }, false},
		"rarely":                     {func(h *history, _ int) { h.time += 1_000_000 }, false},
		"among many events": {func(h *history, _ int) {
			for range 20 {
				h.do(1, event.Write, 7, 2)
			}
		}, false},
		"from many places": {func(h *history, i int) {
			h.opts.Module = func(event.StackID) (int, bool) { return 1, true }
			h.section(1, 5, event.StackID(i%1000+2))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			for i := range minSections + 2048 {
				h.section(1, event.ObjectID(1+i%3), 1)
				c.also(h, i)
			}
			if got := slices.Contains(h.found, 1); got != c.found {
				t.Errorf("found: %v", h.found)
			}
		})
	}
}

// only calls f once among many.
func only(i int, f func()) {
	if i == 1000 {
		f()
	}
}

// nest is a section of one module around one of another.
func (h *history) nest(outer, inner event.StackID) {
	h.do(1, event.Acquire, 5, outer)
	h.section(1, 6, inner)
	h.do(1, event.Release, 5, 0)
}

// TestNotKnownYet asks again for the module of a call stack that has not been found.
func TestNotKnownYet(t *testing.T) {
	h := newHistory()
	asked := 0
	h.opts.Module = func(event.StackID) (int, bool) { asked++; return 1, asked > 100 }
	for range minSections + 2048 {
		h.section(1, 1, 7)
	}
	if asked != 101 || !slices.Equal(h.found, []int{1}) {
		t.Errorf("asked %d times, found %v", asked, h.found)
	}
}

// TestAnyEvents feeds events in any order: a Finder takes what it can of them.
func TestAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		for range rapid.IntRange(0, 300).Draw(t, "events") {
			h.do(event.ThreadID(rapid.Uint32Range(0, 5).Draw(t, "thread")), event.Op(rapid.Uint8Range(0, uint8(event.NumOps)-1).Draw(t, "op")),
				event.ObjectID(rapid.Uint32Range(0, 4).Draw(t, "object")), event.StackID(rapid.Uint32Range(0, 3).Draw(t, "stack")))
		}
		if len(h.found) > 0 {
			t.Errorf("found %v after few sections", h.found)
		}
	})
}
