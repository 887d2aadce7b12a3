package scope

import (
	"testing"

	"github.com/tracepredict/tracepredict/analysis/monitor"
	"github.com/tracepredict/tracepredict/observer/event"
)

// TestNamed: a thread counts as one of a type by name from the event on that names it, in each region, whether it had events
// of local properties before or not.
func TestNamed(t *testing.T) {
	for _, c := range []struct {
		what        string
		named       int // before which of the events of thread 2; -1: never
		size, holds [3]uint64
	}{
		{"at once", 0, [3]uint64{1, 1, 1}, [3]uint64{1, 1, 1}},
		{"after the event of region 0", 1, [3]uint64{1, 1, 1}, [3]uint64{0, 1, 1}},
		{"in region 1, before the event", 2, [3]uint64{0, 1, 1}, [3]uint64{0, 1, 1}},
		{"never", -1, [3]uint64{}, [3]uint64{}},
	} {
		name := map[event.ThreadID]bool{}
		s := &Scope{
			Name: "s", Sync: isAction,
			Types:  []Type{{Name: "all", Has: func(event.ThreadID) bool { return true }}, {Name: "worker", Has: func(id event.ThreadID) bool { return name[id] }}},
			Locals: []Local{{Name: "p", Type: 1, Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})}, {Name: "q", Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})}},
			Atoms:  []Atom{{Name: "x", Holds: func(*Counts) bool { return true }}},
			Checks: []Check{{Formula: formula(t, "G x", []string{"x"})}},
		}
		var size, holds [3]uint64
		m := New(Options{Scope: s, Closed: func(st *State) {
			size[st.Region], holds[st.Region] = st.Counts.Size(1), st.Counts.Of(0, True)
			if n := st.Counts.Of(0, NotApplicable) + st.Counts.Of(0, True) + st.Counts.Of(0, Unknown); n != 2 || st.Counts.Size(0) != 2 {
				t.Errorf("%s: %d verdicts of %d threads in region %d", c.what, n, st.Counts.Size(0), st.Region)
			}
		}})
		seq := uint64(0)
		do := func(id event.ThreadID, op event.Op, object event.ObjectID, declared uint64) {
			seq++
			m.Event(&event.Event{Seq: seq, Thread: id, Op: op, Object: object, Kind: event.KindMutex}, declared)
		}
		nameIf := func(at int) {
			if c.named == at {
				name[2] = true
				do(2, event.Named, 0, 0)
			}
		}
		do(1, event.Fork, 0, 0)
		for range 3 {
			nameIf(int(m.Stats().Actions) * 2)
			do(2, event.Call, 0, isA)
			nameIf(int(m.Stats().Actions)*2 + 1)
			if m.Stats().Actions < 2 {
				do(1, event.Acquire, 1, isAction)
				do(1, event.Release, 1, 0)
			}
		}
		m.Finish()
		if size != c.size || holds != c.holds {
			t.Errorf("%s: sizes %d, want %d; true %d, want %d", c.what, size, c.size, holds, c.holds)
		}
		if v := m.Verdict(0); v == monitor.False {
			t.Errorf("%s: %v", c.what, v)
		}
	}
}
