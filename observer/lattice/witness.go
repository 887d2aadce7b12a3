package lattice

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Violation is an edge of the lattice by which a run turns bad. It is valid during the
// call of Options.Violation.
type Violation struct {
	Property int
	// Observed: it is the observed run that turns bad.
	Observed bool

	lattice *Lattice
	cut     int    // of the current level
	event   *entry // nil: the initial state is bad
}

// Event is the event by which the run turns bad; ok is false where its initial state is
// bad.
func (v *Violation) Event() (e Event, ok bool) {
	if v.event == nil {
		return Event{}, false
	}
	return v.event.Event, true
}

// Level is how many events the run has had with that one.
func (v *Violation) Level() int {
	if v.event == nil {
		return 0
	}
	return v.lattice.level + 1
}

func (l *Lattice) violate(v Violation) {
	if l.o.Violation != nil {
		l.found = v
		l.o.Violation(&l.found)
	}
}

// Witness is a run that turns bad, from the last cut that it has in common with the
// observed run, there with a state of the monitor that the observed run brings it to.
type Witness struct {
	// Common is how many events of the observed run come first, as observed.
	Common int
	From   uint64   // the Seq of the last of these, 0 if there is none or it is no longer kept
	Values []uint64 // after these
	Letter Letter   // that the values give where no declared event happens
	Steps  []Step
}

// Step is an event of a witness.
type Step struct {
	Seq    uint64
	Values []uint64 // of the variables, after it
	Letter Letter
	Reads  bool // the property reads a letter here
}

// ErrForgotten is the error of a witness of which a level is no longer kept.
var ErrForgotten = errors.New("the run that leads there left the observed one before the part of the lattice that was kept")

// ErrBadBefore is the error of a witness that begins with a part of the observed run that
// is bad already.
var ErrBadBefore = errors.New("the observed run is bad before the run that leads there leaves it")

// node is a cut of a level, with a state of the monitor from which the violation is
// reached by the steps of later layers.
type node struct {
	cut   int
	state State
	slot  uint32 // of the event that comes next
	next  int    // the node after it, in the layer above; -1 for the violation
}

// Witness finds a shortest run that shows the violation; where some run into it has turned
// bad before, it may end there. The error is
// ErrForgotten, ErrBadBefore, or says that the plain monitor does
// not agree.
func (v *Violation) Witness() (*Witness, error) {
	l := v.lattice
	if v.event == nil {
		return &Witness{Values: slices.Clone(l.o.Initial), Letter: l.props[v.Property].labels.Letter(l.o.Initial, 0)}, nil
	}
	s := search{l: l, p: v.Property, a: l.props[v.Property], n: len(l.props), m: len(l.o.Initial)}
	s.begin(v)
	for !s.met() {
		if err := s.back(); err != nil {
			return nil, err
		}
	}
	if s.a.bad(s.levels[len(s.levels)-1].run[s.p]) && !v.Observed {
		return nil, ErrBadBefore
	}
	w := s.witness(v)
	return w, s.check(w)
}

// search goes back from a violation, a layer of nodes a level.
type search struct {
	l       *Lattice
	p, n, m int
	a       *automaton
	layers  [][]node
	levels  []*level
	found   int // in the last layer
	// values are those of the variables at the cuts of the last layer: levels passed
	// have none any more.
	values map[int][]uint64
	states []State
}

func (s *search) begin(v *Violation) {
	s.l.packing.cloneTo(&s.l.current.packing)
	lv := s.l.current
	var layer []node
	cut := v.cut
	sets := lv.sets[cut*s.n+s.p]
	if v.Observed {
		cut, sets = lv.observed, lv.run[s.p]
	}
	values := lv.values[cut*s.m : (cut+1)*s.m]
	s.values = map[int][]uint64{cut: slices.Clone(values)}
	letter := s.letter(slices.Clone(values), v.event)
	for _, q := range s.a.statesOf(sets) {
		s.states = s.a.monitor.Step(s.states[:0], q, letter)
		if slices.ContainsFunc(s.states, s.a.monitor.Bad) {
			layer = append(layer, node{cut, q, v.event.Slot, -1})
		}
	}
	s.layers, s.levels = [][]node{layer}, []*level{lv}
}

// letter is that of an edge from a cut with these values, which it changes.
func (s *search) letter(values []uint64, e *entry) Letter {
	if e.Variable >= 0 {
		values[e.Variable] = e.Value
	}
	return s.a.labels.Letter(values, e.Events&s.a.events)
}

// met reports whether the last layer has a node that the observed run passes.
func (s *search) met() bool {
	level := s.levels[len(s.levels)-1]
	if level.observed < 0 || len(level.run) <= s.p {
		return false
	}
	run := s.a.statesOf(level.run[s.p])
	s.found = slices.IndexFunc(s.layers[len(s.layers)-1], func(n node) bool {
		return n.cut == level.observed && slices.Contains(run, n.state)
	})
	return s.found >= 0
}

// back adds the layer of the level before.
func (s *search) back() error {
	at := len(s.l.history) - len(s.levels)
	if at < s.l.gone {
		return ErrForgotten
	}
	from, below := s.levels[len(s.levels)-1], s.l.history[at]
	above := s.layers[len(s.layers)-1]
	index := s.parentKeys(above, from, below)
	below.find(index)
	seen, values := map[node]bool{}, map[int][]uint64{}
	var layer []node
	for k, n := range above {
		layer = s.parents(layer, seen, values, from, below, index, k, n)
	}
	s.values = values
	if len(layer) == 0 {
		return fmt.Errorf("level %d has no cut from which the monitor reaches the violation", below.number)
	}
	s.layers, s.levels = append(s.layers, layer), append(s.levels, below)
	return nil
}

// parents appends the nodes of below from which one event leads to node n above, and
// enters the values at their cuts.
func (s *search) parents(layer []node, seen map[node]bool, before map[int][]uint64, above, below *level, index map[string]int, k int, n node) []node {
	cut := above.unpack(nil, above.key(n.cut, above.words))
	values := s.values[n.cut]
	for slot := range below.base {
		key, _ := below.before(cut, uint32(slot))
		i, ok := index[key]
		if !ok || i < 0 {
			continue
		}
		e := s.l.chains[slot].at(cut[slot])
		reads := e.steps>>s.p&1 != 0
		var letter Letter
		if reads {
			letter = s.a.labels.Letter(values, e.Events&s.a.events)
		}
		for _, q := range s.a.statesOf(below.sets[i*s.n+s.p]) {
			s.states = append(s.states[:0], q)
			if reads {
				s.states = s.a.monitor.Step(s.states[:0], q, letter)
			}
			if id := (node{cut: i, state: q}); slices.Contains(s.states, n.state) && !seen[id] {
				seen[id] = true
				before[i] = e.undo(before[i], values)
				layer = append(layer, node{i, q, uint32(slot), k})
			}
		}
	}
	return layer
}

// parentKeys are the keys in level below of the cuts from which one event leads to a node.
func (s *search) parentKeys(nodes []node, above, below *level) map[string]int {
	index := map[string]int{}
	for _, n := range nodes {
		cut := above.unpack(nil, above.key(n.cut, above.words))
		for slot := range below.base {
			if key, ok := below.before(cut, uint32(slot)); ok {
				index[key] = -1
			}
		}
	}
	return index
}

// find enters which of the cuts of a level the keys of an index are.
func (v *level) find(index map[string]int) {
	var b []byte
	for i := range v.n {
		b = text(b[:0], v.key(i, v.words))
		if _, wanted := index[string(b)]; wanted {
			index[string(b)] = i
		}
	}
}

func text(into []byte, key []uint64) []byte {
	for _, k := range key {
		into = binary.LittleEndian.AppendUint64(into, k)
	}
	return into
}

// before is the key of the cut without the last event of a slot, if the lanes hold it.
func (v *level) before(cut []uint32, slot uint32) (key string, ok bool) {
	if cut[slot] == 0 {
		return "", false
	}
	cut[slot]--
	defer func() { cut[slot]++ }()
	for s, n := range cut {
		if s >= len(v.base) && n > 0 || s < len(v.base) && (n < v.base[s] || n-v.base[s] > v.limit()) {
			return "", false
		}
	}
	return string(text(nil, v.pack(nil, cut[:len(v.base)]))), true
}

// witness follows the nodes from the one that was met.
func (s *search) witness(v *Violation) *Witness {
	last := len(s.layers) - 1
	level := s.levels[last]
	n := s.layers[last][s.found]
	values := slices.Clone(s.values[n.cut])
	w := &Witness{Common: s.l.level - last, Values: slices.Clone(values), Letter: s.a.labels.Letter(values, 0)}
	w.From = s.l.latest(level.unpack(nil, level.key(n.cut, level.words)))
	for k := last; ; k-- {
		level = s.levels[k]
		cut := level.unpack(nil, level.key(n.cut, level.words))
		e := s.l.chains[n.slot].at(cut[n.slot] + 1)
		letter := s.letter(values, e)
		w.Steps = append(w.Steps, Step{e.Seq, slices.Clone(values), letter, e.steps>>s.p&1 != 0})
		if n.next < 0 {
			return w
		}
		n = s.layers[k-1][n.next]
	}
}

// latest is the Seq of the event of a cut that came last in the trace, 0 if none is kept.
func (l *Lattice) latest(cut []uint32) (seq uint64) {
	order := -1
	for s, n := range cut {
		if c := &l.chains[s]; n > 0 && n >= c.first && c.at(n).order > order {
			seq, order = c.at(n).Seq, c.at(n).order
		}
	}
	return seq
}

// check runs the plain monitor over the witness, from the states of the observed run. A
// non-deterministic monitor may be bad before the violation that was asked for, by other
// states: the witness then ends there.
func (s *search) check(w *Witness) error {
	run := s.levels[len(s.levels)-1].run[s.p]
	states := slices.Clone(s.a.statesOf(run))
	for i := range w.Steps {
		if !w.Steps[i].Reads {
			continue
		}
		var next []State
		for _, q := range states {
			next = s.a.monitor.Step(next, q, w.Steps[i].Letter)
		}
		slices.Sort(next)
		states = slices.Compact(next)
		if slices.ContainsFunc(states, s.a.monitor.Bad) {
			w.Steps = w.Steps[:i+1]
			return nil
		}
	}
	return fmt.Errorf("the plain monitor is not bad after the %d steps", len(w.Steps))
}
