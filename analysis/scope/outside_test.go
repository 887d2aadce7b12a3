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
		named  int // the thread gets another name: 1: in that region, 2: in an earlier one
		behind bool
		found  int
		stops  bool
	}{
		"judged":         {thread: 2, found: 1},
		"not known":      {err: errors.New("lost"), thread: 2, stops: true},
		"another region": {region: 5, thread: 2, stops: true},
		"another thread": {thread: 9, stops: true},
		"named":          {thread: 2, named: 1, found: 1},
		"named behind":   {thread: 2, named: 1, behind: true, stops: true},
		"named earlier":  {thread: 2, named: 2, behind: true, found: 1},
	} {
		t.Run(name, func(t *testing.T) {
			names := named{}
			s := &Scope{
				Name: "s", Sync: 1, Types: []Type{{Name: "t", Has: names.of(func(event.ThreadID) bool { return c.named == 0 })}},
				Locals: []Local{{Name: "p", Events: []uint64{2}, Formula: formula(t, "F a", []string{"a"})}},
				Atoms:  []Atom{{Name: "x", Holds: func(c *Counts) bool { return c.Of(0, True) > 0 }}},
				Checks: []Check{{Text: "always !x", Formula: formula(t, "G !x", []string{"x"})}},
			}
			asked := uint64(0)
			m := New(Options{Scope: s, Outside: func(Action) (*Results, error) {
				r := &Results{Region: c.region + asked}
				if asked == 1 {
					r.Threads = []ThreadResult{{Thread: c.thread, Named: c.behind, Verdicts: []Verdict{True}}}
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
			for i := range 2 {
				if c.named == 2-i {
					names.pass(m, []event.Event{{Thread: 2, Op: event.Named}}, []uint64{0})
				}
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
