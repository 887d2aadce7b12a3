package scope

import (
	"errors"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// TestOutside: results from elsewhere are judged as the events themselves would be, and a region whose results are not
// known, or are those of another one, ends the judging.
func TestOutside(t *testing.T) {
	for name, c := range map[string]struct {
		region uint64
		err    error
		thread event.ThreadID
		found  int
		stops  bool
	}{
		"judged":         {thread: 2, found: 1},
		"not known":      {err: errors.New("lost"), thread: 2, stops: true},
		"another region": {region: 5, thread: 2, stops: true},
		"another thread": {thread: 9, stops: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Scope{
				Name: "s", Sync: 1, Types: []Type{{Name: "t", Has: func(event.ThreadID) bool { return true }}},
				Locals: []Local{{Name: "p", Events: []uint64{2}, Formula: formula(t, "F a", []string{"a"})}},
				Atoms:  []Atom{{Name: "x", Holds: func(c *Counts) bool { return c.Of(0, True) > 0 }}},
				Checks: []Check{{Text: "always !x", Formula: formula(t, "G !x", []string{"x"})}},
			}
			asked := uint64(0)
			m := New(Options{Scope: s, Outside: func(Action) (*Results, error) {
				r := &Results{Region: c.region + asked}
				if asked == 1 {
					r.Threads = []ThreadResult{{c.thread, []Verdict{True}}}
				}
				asked++
				if c.err != nil && asked == 2 {
					return nil, c.err
				}
				return r, nil
			}})
			for id := event.ThreadID(1); id <= 2; id++ {
				m.Event(&event.Event{Thread: id, Op: event.Begin}, 0)
			}
			for range 2 {
				m.Event(&event.Event{Thread: 1, Op: event.Acquire, Object: 1}, 1)
				m.Event(&event.Event{Thread: 1, Op: event.Release, Object: 1}, 0)
			}
			found := m.Finish()
			if _, _, stops := m.Stopped(); len(found) != c.found || stops != c.stops {
				t.Errorf("%d findings, stopped %v", len(found), stops)
			}
		})
	}
}
