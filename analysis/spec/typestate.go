package spec

import (
	"slices"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// Typestate is a protocol of the use of objects: an automaton over calls, of which each object is in a set of states.
type Typestate struct {
	Name   string
	Type   string // of the objects, as written
	Calls  []Use  // its alphabet
	States []ProtocolState
	// Mined: the protocol was learned from runs. BornAtFirstUse: an object whose creation was not seen is in the first
	// state, and not in all of them. RebornAtNextUse: a value that comes again after the end of its object, without a call
	// that creates it, is another object, whose creation was not seen.
	Mined, BornAtFirstUse, RebornAtNextUse bool

	Object string      // the name that stands for the object in the patterns
	Span   syntax.Span // of Name
	At     syntax.Span // of Type
	// ByExpression: an expression stands in place of the states, which are those of its automaton, and have numbers for
	// names: s0, s1, …. Text is the expression, with the words before it.
	ByExpression bool
	Text         string
}

// MaxUses is the largest number of calls of a typestate.
const MaxUses = 64

// Use is a call of an object that its protocol mentions.
type Use struct {
	Name   string
	Event  int // index in Spec.Events
	Object int // index in Event.Bound of the value that stands for the object
	// Creates: an object of that value begins with the call: its result is the object, or what it has stored, or only
	// objects in the first state have it, and they never come back to that state.
	Creates bool
}

// ProtocolState is a state of a Typestate. Next has, by call, the states that follow, as indices in Typestate.States;
// none: the call breaks the protocol.
type ProtocolState struct {
	Name string
	Next [][]int
}

// declareTypestate declares a typestate, with its events, which have no names outside of it.
func (r *resolver) declareTypestate(d *syntax.Typestate) {
	t := &Typestate{
		Name: d.Name.Text, Type: d.Type.Text, Object: d.Object.Text, Mined: d.Mined, BornAtFirstUse: d.BornAtFirstUse,
		RebornAtNextUse: d.RebornAtNextUse, Span: d.Name.Span, At: d.Type.Span, ByExpression: d.Regex != nil,
	}
	for i := range d.Events {
		e := &d.Events[i]
		t.Calls = append(t.Calls, Use{Name: e.Name.Text, Event: len(r.Events)})
		r.Events = append(r.Events, Event{Name: d.Name.Text + "." + e.Name.Text, Op: e.Pattern.Op, Span: e.Name.Span})
		r.events = append(r.events, e)
	}
	r.Typestates, r.typestates = append(r.Typestates, t), append(r.typestates, d)
}

// typestate resolves a typestate: each of its events binds the object, and the events and states that are mentioned are
// declared. It adds warnings about states that cannot be reached.
func (r *resolver) typestate(t *Typestate, d *syntax.Typestate) {
	calls := map[string]int{}
	for i := range d.Events {
		e := &d.Events[i]
		if before, ok := calls[e.Name.Text]; ok {
			r.twice(e.Name, d.Events[before].Name.Span)
		}
		calls[e.Name.Text] = i
		r.use(&t.Calls[i], d, e)
	}
	if len(t.Calls) > MaxUses {
		r.tooLarge(d.Events[MaxUses].Name.Span, "the typestate has %d calls: at most %d", len(t.Calls), MaxUses)
		return
	}
	if d.Regex != nil {
		r.protocolExpression(t, d, calls)
		r.creations(t)
		return
	}
	r.protocolStates(t, d, calls)
	r.creations(t)
}

// use resolves an event of a typestate, whose pattern must be a call or a return that binds the object.
func (r *resolver) use(u *Use, d *syntax.Typestate, e *syntax.Event) {
	r.useEvent(u.Event)
	at := &r.Events[u.Event]
	if at.Op != syntax.OpCall && at.Op != syntax.OpReturn {
		r.mismatch(e.Name.Span, "%q is no call: a typestate is about calls of functions and their returns", e.Name.Text)
		return
	}
	u.Object = slices.Index(at.Bound, d.Object.Text)
	if u.Object < 0 {
		r.mismatch(e.Name.Span, "the pattern of %q does not bind %q, which tells objects apart", e.Name.Text, d.Object.Text)
	}
	u.Creates = u.Object >= 0 && (u.Object == at.Result || u.Object < len(at.params) && at.params[u.Object].stored)
}

// protocolStates resolves the states of a typestate.
func (r *resolver) protocolStates(t *Typestate, d *syntax.Typestate, calls map[string]int) {
	index := r.states(d.States)
	for i := range d.States {
		s := &d.States[i]
		state := ProtocolState{Name: s.Name.Text, Next: make([][]int, len(t.Calls))}
		for _, e := range s.Edges {
			call, known := calls[e.Event.Text]
			if !known {
				r.unknownAmong(e.Event, "event", calls)
			}
			r.target(index, e.To)
			if to, ok := index[e.To.Text]; ok && known {
				r.transition(&state, e, call, to)
			}
		}
		t.States = append(t.States, state)
	}
	reached := reachable(d.States, index)
	for i, s := range d.States {
		if !reached[i] {
			r.warn(syntax.Unreachable, s.Name.Span, "no sequence of events leads to state %q", s.Name.Text)
		}
	}
}

// transition adds a transition to a state.
func (r *resolver) transition(s *ProtocolState, e syntax.Edge, call, to int) {
	if len(s.Next[call]) > 0 {
		r.warn(syntax.Doubtful, e.Event.Span, "there is a transition by %q from %q already: an object may be in the state of either then", e.Event.Text, s.Name)
	}
	if !slices.Contains(s.Next[call], to) {
		s.Next[call] = append(s.Next[call], to)
	}
}

// creations sets Use.Creates of the calls that only objects in the first state have, if no transition leads there.
func (r *resolver) creations(t *Typestate) {
	if len(t.States) == 0 {
		return
	}
	for _, s := range t.States {
		if slices.ContainsFunc(s.Next, func(next []int) bool { return slices.Contains(next, 0) }) {
			return
		}
	}
	for c := range t.Calls {
		has := func(s ProtocolState) bool { return len(s.Next[c]) > 0 }
		if has(t.States[0]) && !slices.ContainsFunc(t.States[1:], has) {
			t.Calls[c].Creates = true
		}
	}
}

// reachable returns, for each state, whether transitions lead to it from the first one.
func reachable(states []syntax.State, index map[string]int) []bool {
	reached := make([]bool, len(states))
	if len(states) == 0 {
		return reached
	}
	reached[0] = true
	for todo := []int{0}; len(todo) > 0; todo = todo[1:] {
		for _, e := range states[todo[0]].Edges {
			if to, ok := index[e.To.Text]; ok && !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	return reached
}
