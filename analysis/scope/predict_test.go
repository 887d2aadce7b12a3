package scope

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/observer/event"
)

// ordered makes schedules by the order of the oracle.
type ordered struct {
	run    []event.Event
	order  order
	begins int // the number of events of which each run has the first ones first
	names  named
	change bool // the types of threads do
}

// named has the threads that have got another name in the run that is passed on.
type named map[event.ThreadID]bool

// of returns a type that threads change with their names.
func (n named) of(is func(event.ThreadID) bool) func(event.ThreadID) bool {
	return func(id event.ThreadID) bool { return is(id) != n[id] }
}

// pass passes events of a run to a monitor.
func (n named) pass(m *Monitor, run []event.Event, declared []uint64) {
	for i := range run {
		if run[i].Op == event.Named {
			n[run[i].Thread] = !n[run[i].Thread]
		}
		m.Event(&run[i], declared[i])
	}
}

var errImpossible = errors.New("an event must come before another one")

// Schedule implements History.
func (o ordered) Schedule(from uint64, seqs []uint64, relevant func(uint64) bool) ([]finding.Step, error) {
	done := map[int]bool{}
	var out []finding.Step
	for i := range o.run {
		done[i] = o.run[i].Seq <= from
	}
	for _, seq := range seqs {
		at := int(seq - 1)
		for i := range o.run[:at] {
			if !done[i] && o.order[i][at] {
				if relevant(o.run[i].Seq) {
					return nil, errImpossible
				}
				done[i] = true
				out = append(out, finding.StepOf(&o.run[i]))
			}
		}
		if done[at] {
			return nil, errImpossible
		}
		done[at] = true
		out = append(out, finding.StepOf(&o.run[at]))
	}
	return out, nil
}

// TestPredictedRuns: the monitor finds each predicted violation in the predicted run too, at its last action, and as it says
// there; and where another run violates the check first at an action of which the regions before are as observed, with
// events that were observed in the regions next to it, that is predicted, or the search says that it was not complete.
func TestPredictedRuns(t *testing.T) {
	predicted, names := 0, 0
	for seed := range uint64(900) {
		r := rand.New(rand.NewPCG(seed, 46))
		s := randomScope(t, r)
		s.Locals = slices.DeleteFunc(s.Locals, func(l Local) bool { return l.Across })
		s.Atoms = []Atom{
			{Name: "x", Holds: func(c *Counts) bool { return c.Of(0, True) > c.Of(1, True) }},
			{Name: "y", Holds: func(c *Counts) bool { return c.Of(0, True)+c.Of(1, False) == c.Size(0) }},
		}
		o := ordered{names: named{}, change: seed%3 == 2}
		if o.change {
			for i := range s.Types[:2] {
				s.Types[i].Has = o.names.of(s.Types[i].Has)
			}
		}
		text := []string{"always (x -> y)", "always !(x && y)", "always (y -> next !x)"}[r.IntN(3)]
		s.Checks = []Check{{Text: text, Formula: formula(t, text, []string{"x", "y"})}}
		run, declared := randomRun(r, 12+r.IntN(12))
		begins := 8
		if seed%2 == 1 {
			begins = 6
		}
		run, declared = withBegins(run, declared, begins)
		if o.change {
			run, declared = withNames(r, run, declared, begins)
		}
		o.run, o.order, o.begins = run, orderOf(run, edges{locks: true, forks: true}), begins
		m := New(Options{Scope: s, History: o})
		o.names.pass(m, run, declared)
		found := m.Finish()
		for i := range found {
			if f := &found[i]; f.Confidence == finding.Predicted {
				predicted++
				if slices.ContainsFunc(f.Witness, func(x finding.Step) bool { return x.Op == event.Named }) {
					names++
				}
				checkPredicted(t, seed, s, o, declared, f)
			}
		}
		if len(found) > 0 || m.Searched().Left > 0 {
			continue
		}
		if o.violated(t, r, s, declared) {
			t.Errorf("seed %d: another run violates the check, and none was predicted", seed)
		}
	}
	if predicted < 40 || names < 10 {
		t.Errorf("%d runs were predicted, %d with a name: too few to tell", predicted, names)
	}
}

// never makes no schedule.
type never struct{ asked *int }

func (n never) Schedule(uint64, []uint64, func(uint64) bool) ([]finding.Step, error) {
	*n.asked++
	return nil, errImpossible
}

// TestSearchEnds: the search for schedules ends when too many were refused, and says at how many actions.
func TestSearchEnds(t *testing.T) {
	s := &Scope{
		Name: "s", Sync: isAction, Types: []Type{{Name: "all", Has: func(event.ThreadID) bool { return true }}},
		Locals: []Local{{Name: "p", Events: []uint64{isA}, Formula: formula(t, "F a", []string{"a"})}},
		Atoms:  []Atom{{Name: "some", Holds: func(c *Counts) bool { return c.Of(0, True) > 0 }}},
		Checks: []Check{{Text: "some", Formula: formula(t, "next always some", []string{"some"})}},
	}
	asked := 0
	m := New(Options{Scope: s, History: never{&asked}})
	m.Event(&event.Event{Thread: 2, Op: event.Begin}, 0)
	for i := range uint64(1000) {
		m.Event(&event.Event{Seq: 2*i + 1, Thread: 1, Op: event.Acquire, Object: 1}, isAction)
		m.Event(&event.Event{Seq: 2*i + 2, Thread: 2, Op: event.Call}, isA)
	}
	found := m.Finish()
	if len(found) != 0 || asked != maxRefused || m.Searched().Refused != maxRefused || m.Searched().Left < 900 {
		t.Errorf("%d findings, asked %d times, %+v", len(found), asked, m.Searched())
	}
}

// withBegins adds a first event of each thread, and an action, so that all threads are there before the first region that
// the search examines. With 6 begins, the last thread is created then, and begins just before its first event.
func withBegins(run []event.Event, declared []uint64, begins int) (events []event.Event, masks []uint64) {
	add := func(e event.Event, d uint64) {
		e.Seq = uint64(len(events) + 1)
		events, masks = append(events, e), append(masks, d)
	}
	first := event.ThreadID(begins / 2)
	for id := event.ThreadID(2); id <= first; id++ {
		add(event.Event{Thread: 1, Op: event.Fork, Peer: id}, 0)
		add(event.Event{Thread: id, Op: event.Begin, Peer: 1}, 0)
	}
	add(event.Event{Thread: 1, Op: event.Acquire, Object: 1}, isAction)
	add(event.Event{Thread: 1, Op: event.Release, Object: 1}, 0)
	if first < 4 {
		add(event.Event{Thread: 1, Op: event.Fork, Peer: 4}, 0)
	}
	for i := range run {
		if run[i].Thread > first {
			first = run[i].Thread
			add(event.Event{Thread: first, Op: event.Begin, Peer: 1}, 0)
		}
		if op := run[i].Op; op != event.Fork && op != event.Join && op != event.End {
			add(run[i], declared[i])
		}
	}
	return events, masks
}

// withNames adds names that threads give themselves, behind the begins.
func withNames(r *rand.Rand, run []event.Event, declared []uint64, begins int) (events []event.Event, masks []uint64) {
	begun := map[event.ThreadID]bool{1: true}
	for i := range run {
		e := run[i]
		if e.Op == event.Begin {
			begun[e.Thread] = true
		}
		e.Seq = uint64(len(events) + 1)
		events, masks = append(events, e), append(masks, declared[i])
		if id := event.ThreadID(1 + r.IntN(4)); i >= begins && begun[id] && r.IntN(4) == 0 {
			events = append(events, event.Event{Seq: e.Seq + 1, Thread: id, Peer: id, Op: event.Named})
			masks = append(masks, 0)
		}
	}
	return events, masks
}

// checkPredicted runs the monitor on a predicted run.
func checkPredicted(t *testing.T, seed uint64, s *Scope, o ordered, declared []uint64, f *finding.Finding) {
	t.Helper()
	last := f.Witness[len(f.Witness)-1].Seq
	var atoms []bool
	m := New(Options{Scope: s, Closed: func(s *State) {
		if s.Region == f.Scope.Region {
			atoms = slices.Clone(s.Atoms)
		}
	}})
	inWitness := map[uint64]bool{}
	for _, x := range f.Witness {
		inWitness[x.Seq] = true
	}
	first := f.Witness[0].Seq
	for _, x := range f.Witness {
		first = min(first, x.Seq)
	}
	clear(o.names)
	// The run up to the action before the region, then the witness.
	actions := uint64(0)
	for i := range o.run {
		if actions == f.Scope.Region {
			break
		}
		o.names.pass(m, o.run[i:i+1], declared[i:])
		if declared[i]&isAction != 0 {
			actions++
		}
	}
	for _, x := range f.Witness {
		o.names.pass(m, o.run[x.Seq-1:x.Seq], declared[x.Seq-1:])
	}
	if len(m.found) != 1 || m.found[0].Scope.Region != f.Scope.Region || m.last.Seq != last {
		t.Fatalf("seed %d: the predicted run has the findings %+v, want one in region %d", seed, m.found, f.Scope.Region)
	}
	for i, a := range f.Scope.Atoms {
		if atoms[i] != a.Holds {
			t.Fatalf("seed %d: atom %s is %v", seed, a.Name, atoms[i])
		}
	}
}

// violated reports whether one of some random runs of the order violates the check, the regions before being as observed.
func (o ordered) violated(t *testing.T, r *rand.Rand, s *Scope, declared []uint64) bool {
	t.Helper()
	var observed [][]bool
	clear(o.names)
	whole := New(Options{Scope: s, Closed: func(s *State) { observed = append(observed, slices.Clone(s.Atoms)) }})
	o.names.pass(whole, o.run, declared)
	whole.Finish()
	threadsFirst := make(order, len(o.run))
	for i := range o.run {
		threadsFirst[i] = slices.Clone(o.order[i])
		for j := range o.run {
			threadsFirst[i][j] = threadsFirst[i][j] || i < o.begins && i < j
		}
	}
	for range 30 {
		run, masks := linearisation(r, threadsFirst, o.run, declared)
		var states [][]bool
		m := New(Options{Scope: s, Closed: func(s *State) { states = append(states, slices.Clone(s.Atoms)) }})
		clear(o.names)
		o.names.pass(m, run, masks)
		found := m.Finish()
		if len(found) == 0 || found[0].Scope.Last || found[0].Scope.Region == 0 {
			continue
		}
		same := true
		for i := range found[0].Scope.Region {
			same = same && slices.Equal(states[i], observed[i])
		}
		k := found[0].Scope.Region
		early := o.before(s, run, masks, k+1)
		seen := o.before(s, o.run, declared, k+1+maxAhead)
		far := slices.ContainsFunc(early, func(seq uint64) bool { return !slices.Contains(seen, seq) })
		if same && !far && slices.Equal(o.before(s, run, masks, k), o.before(s, o.run, declared, k)) {
			return true
		}
	}
	return false
}

// before returns the numbers of the events of local properties, and of late begins, before the n-th action, ascending.
func (o ordered) before(s *Scope, events []event.Event, declared []uint64, n uint64) (out []uint64) {
	for i := range events {
		if declared[i]&isAction != 0 {
			if n--; n == 0 {
				break
			}
		} else if s.counts(events[i].Thread, declared[i]) || o.change && declared[i] != 0 || events[i].Op == event.Named || events[i].Op == event.Begin && events[i].Seq > uint64(o.begins) {
			out = append(out, events[i].Seq)
		}
	}
	slices.Sort(out)
	return out
}
