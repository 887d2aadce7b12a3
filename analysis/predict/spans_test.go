package predict

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/event/eventtest"
)

// unrecorded is what the data that locks and semaphores guard may hold: each critical section that is
// not shared may change them, and each wait for a semaphore takes what the next post has left there.
type unrecorded struct {
	history map[event.ObjectID][]int // the sections of a lock, or the waits for a semaphore, so far
	posts   []int
	seen    map[int]string // by event that begins a section: what the section may read
	counted bool           // the initial value of theSem is recorded
	initial int
}

// readBy returns what each section may read if these events of the run happen in this order.
func (m *machine) readBy(seq []int) map[int]string {
	u := unrecorded{history: map[event.ObjectID][]int{}, seen: map[int]string{}, initial: m.initial}
	u.counted = slices.ContainsFunc(m.out, func(e event.Event) bool { return e.Op == event.Init && e.Object == theSem })
	for _, i := range seq {
		u.add(i, &m.out[i])
	}
	return u.seen
}

func (u *unrecorded) add(i int, e *event.Event) {
	switch e.Op {
	case event.Acquire, event.AcquireRead:
		u.seen[i] = fmt.Sprint(u.history[e.Object])
		if e.Op == event.Acquire {
			u.history[e.Object] = append(u.history[e.Object], i)
		}
	case event.SemPost:
		u.posts = append(u.posts, i)
	case event.SemWait:
		taken := u.posts
		if u.counted {
			taken = u.posts[:max(0, len(u.history[e.Object])+1-u.initial)]
		}
		u.seen[i] = fmt.Sprint(u.history[e.Object], taken)
		u.history[e.Object] = append(u.history[e.Object], i)
	}
}

// sectionOf returns the events of the section that event i begins.
func (m *machine) sectionOf(i int) (events []int) {
	ends := event.Release
	if m.out[i].Op == event.SemWait {
		ends = event.SemPost
	}
	for j := i; j < len(m.out); j++ {
		switch o := &m.out[j]; {
		case o.Thread != m.out[i].Thread:
		case o.Op == ends && o.Object == m.out[i].Object:
			return events
		default:
			events = append(events, j)
		}
	}
	return events
}

// TestSpansAreTheDefinition: the code on which a prediction rests is exactly that of the kept
// sections that may read other data than in the run. Where there are such, the prediction assumes
// that they do the same.
func TestSpansAreTheDefinition(t *testing.T) {
	runs := uint64(testtool.Cases(1500, 1500, 3000))
	found := map[event.Op]int{} // sections that may read other data
	for seed := range runs {
		m := small(seed, true)
		for i := range m.out {
			m.out[i].Stack = event.StackID(i + 1)
		}
		eventtest.Stamp(m.out)
		inRun := m.readBy(upTo(len(m.out)))
		m.ask(record(m.out, Options{}), func(kind finding.Kind, p Pattern, r Result) {
			if r.Verdict != Predicted {
				return
			}
			n := len(r.Chosen)
			seq := indices(r.Witness[:len(r.Witness)-n])
			all := slices.Clone(seq)
			for _, s := range r.Chosen {
				all = append(all, int(s)-1)
			}
			var want []finding.Span
			for i, read := range m.readBy(seq) {
				if read == inRun[i] {
					continue
				}
				found[m.out[i].Op]++
				want = append(want, m.spansOf(m.sectionOf(i), all, n)...)
				if !slices.Contains(r.Assumes, finding.GuardedData) {
					t.Fatalf("seed %d, %s %v: the section of event %d may read other data, but that is not assumed\n%v", seed, kind, p, i, m.out)
				}
			}
			got := map[finding.Span]bool{}
			for _, s := range r.Spans {
				got[s] = true
			}
			expected := map[finding.Span]bool{}
			for _, s := range want {
				expected[s] = true
			}
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Fatalf("seed %d, %s %v, %v: (-want +got)\n%s", seed, kind, p, seq, diff)
			}
		})
	}
	t.Log(found)
	for _, op := range []event.Op{event.Acquire, event.AcquireRead, event.SemWait} {
		if found[op] == 0 {
			t.Errorf("no section that begins with %s may read other data: the test shows nothing of it", op)
		}
	}
}

// spansOf returns the code between the events of a section and the next ones of its thread, if these
// are executed. It passes over accesses, unless none but these follow. The last n of the executed
// events are attempted.
func (m *machine) spansOf(section, executed []int, n int) (all []finding.Span) {
	for _, i := range section {
		if m.out[i].Op.IsAccess() {
			continue
		}
		if to, last := m.nextCall(i, executed, n); to >= 0 {
			all = append(all, finding.Span{Thread: m.out[i].Thread, Span: event.Span{From: m.out[i].Stack, To: m.out[to].Stack, Last: last}})
		}
	}
	return all
}

// nextCall returns the end of the span that begins with event i, or -1, and whether it is attempted.
func (m *machine) nextCall(i int, executed []int, n int) (to int, last bool) {
	to = -1
	for j := i + 1; j < len(m.out); j++ {
		if m.out[j].Thread != m.out[i].Thread {
			continue
		}
		at := slices.Index(executed, j)
		if at < 0 {
			return to, false
		}
		if to, last = j, at >= len(executed)-n; last || !m.out[j].Op.IsAccess() {
			return to, last
		}
	}
	return to, false
}
