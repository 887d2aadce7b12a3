package predict

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/finding/reason"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// TestMovedSections: where a witness keeps a critical section before which other exclusive sections of the lock come
// than in the run, or in another order, the code of all of these from the first difference on is in Moved. The
// release of a lock has no call stack.
func TestMovedSections(t *testing.T) {
	runs := uint64(3000)
	if testing.Short() {
		runs = 500
	}
	found := 0
	for seed := range runs {
		m := small(seed, true)
		for i := range m.out {
			if m.out[i].Op != event.Release {
				m.out[i].Stack = event.StackID(i + 1)
			}
		}
		eventtest.Stamp(m.out)
		m.ask(record(m.out, Options{}), func(kind finding.Kind, p Pattern, r Result) {
			if r.Verdict != Predicted || !slices.Contains(r.Assumes, finding.GuardedData) || r.MovedUnknown.Given() {
				return
			}
			got := map[event.Span]bool{}
			for _, s := range r.Moved {
				got[s.Code().Span] = true
			}
			for _, i := range m.movedSections(indices(r.Witness[:len(r.Witness)-len(r.Chosen)])) {
				found++
				for _, want := range m.codeOf(i) {
					if !got[want] {
						t.Fatalf("seed %d, %s %v: %+v of section %d is not in %+v\n%v", seed, kind, p, want, i, r.Moved, m.out)
					}
				}
			}
		})
	}
	if found == 0 {
		t.Error("no witness moves a section: the test shows nothing")
	}
}

// movedSections returns the exclusive sections, by the events that begin them, from the first one on that differs
// between those that come before a kept section of their lock in the run and in a witness.
func (m *machine) movedSections(witness []int) (moved []int) {
	before := func(order []int, begin int) (sections []int) {
		for _, i := range order {
			if i == begin {
				break
			}
			if m.out[i].Op == event.Acquire && m.out[i].Object == m.out[begin].Object {
				sections = append(sections, i)
			}
		}
		return sections
	}
	for _, begin := range witness {
		if !m.out[begin].Op.IsAcquire() {
			continue
		}
		run, now := before(upTo(len(m.out)), begin), before(witness, begin)
		n := 0
		for n < min(len(run), len(now)) && run[n] == now[n] {
			n++
		}
		moved = append(append(moved, run[n:]...), now[n:]...)
	}
	return moved
}

// codeOf returns the code of the section that an event begins: from the last event that has a call stack to each
// event of its thread that is no access, up to the end of the section.
func (m *machine) codeOf(begin int) (all []event.Span) {
	from, releases := m.out[begin].Stack, 0
	for i := begin + 1; i < len(m.out); i++ {
		e := &m.out[i]
		if e.Thread != m.out[begin].Thread || e.Op.IsAccess() {
			continue
		}
		all = append(all, event.Span{From: from, To: e.Stack, Releases: releases})
		if e.Op == event.Release && e.Object == m.out[begin].Object {
			return all
		}
		if releases++; e.Op != event.Release || e.Flags&event.InCondWait != 0 {
			from, releases = e.Stack, 0
		}
	}
	return all
}

// TestOvertaken: accesses that are not recorded, because the thread alone had used the variable or had read it
// before, come after a write in a witness only if the run has them before it.
func TestOvertaken(t *testing.T) {
	const x, y event.ObjectID = 1, 2
	access := func(thread event.ThreadID, op event.Op, o event.ObjectID) event.Event {
		return event.Event{Thread: thread, Op: op, Object: o}
	}
	run := []event.Event{
		access(1, event.Read, x), access(1, event.Write, y), access(1, event.Write, y), access(2, event.Write, x),
	}
	for _, c := range []struct {
		name  string
		order []int
		flags event.Flags // of the first event
		want  reason.Reason
	}{
		{"as in the run", []int{0, 1, 2, 3}, 0, reason.Reason{}},
		{"the write between what the other thread does", []int{0, 1, 3, 2}, 0, reason.Reason{What: reason.Overtaken, Thread: 1, Other: 2}},
		{"the other thread has ended", []int{0, 1, 3}, 0, reason.Reason{}},
		{"the write first", []int{3, 0, 1}, 0, reason.Reason{What: reason.Overtaken, Thread: 1, Other: 2}},
		{"accesses out of their places", []int{0, 1, 2, 3}, event.Past, reason.Reason{What: reason.Unplaced, Thread: 1}},
	} {
		events := slices.Clone(run)
		events[0].Flags = c.flags
		for i := range events {
			events[i].Seq = uint64(i + 1)
		}
		eventtest.Stamp(events)
		h := record(events, Options{})
		h.update()
		var steps []finding.Step
		for _, i := range c.order {
			steps = append(steps, finding.StepOf(&events[i]))
		}
		if diff := cmp.Diff(c.want, h.overtaken(steps)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
