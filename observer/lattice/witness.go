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
	Property int // index in Options.Properties
	// Observed reports that the observed run itself turns bad.
	Observed bool

	lattice *Lattice
	cut     int    // index of the cut of the current level where the edge begins
	event   *entry // nil: the initial state is bad
}

// Event returns the event by which the run turns bad; ok is false if its initial state is bad.
func (v *Violation) Event() (e Event, ok bool) {
	if v.event == nil {
		return Event{}, false
	}
	return v.event.Event, true
}

// Level returns the number of events of the run up to and including that one.
func (v *Violation) Level() int {
	if v.event == nil {
		return 0
	}
	return v.lattice.level + 1
}

// violate reports a violation.
func (l *Lattice) violate(v Violation) {
	if l.o.Violation != nil {
		l.found = v
		l.o.Violation(&l.found)
	}
}

// Witness is a run that turns bad. It begins at the last cut that it has in common with the
// observed run, in a state of the monitor to which the observed run leads.
type Witness struct {
	// Common is the number of events of the observed run that come first, as observed.
	Common int
	From   uint64   // the Seq of the last of these; 0: there is none or it is no longer kept
	Values []uint64 // of the variables, after these
	Letter Letter   // of these values, where no declared event happens
	Steps  []Step
}

// Step is an event of a witness.
type Step struct {
	Seq    uint64
	Slot   uint32
	Values []uint64 // of the variables, after it
	Letter Letter
	Reads  bool // the monitor reads a letter at the event
}

// ErrDropped is the error if a level that the witness needs is no longer kept.
var ErrDropped = errors.New("the run that leads there left the observed one before the part of the lattice that was kept")

// ErrBadBefore is the error if the observed run is already bad where the witness would leave
// it.
var ErrBadBefore = errors.New("the observed run is bad before the run that leads there leaves it")

// node is a cut of a level, with a state of the monitor from which the steps of the layers above
// lead to the violation.
type node struct {
	cut   int // its index in the level
	state State
	slot  uint32 // of the event that comes next
	next  int    // index of the next node in the layer above; -1 for the violation
}

// Witness returns a run that shows the violation, with as few steps after it leaves the observed
// run as possible; where the run has turned bad before, it may end there. The error is
// ErrDropped, ErrBadBefore, or another one if the levels or the plain monitor disagree with the
// violation.
func (v *Violation) Witness() (*Witness, error) {
	l := v.lattice
	if v.event == nil {
		return &Witness{Values: slices.Clone(l.o.Initial), Letter: l.props[v.Property].labels.Letter(l.o.Initial, 0)}, nil
	}
	s := search{l: l, p: v.Property, a: l.props[v.Property], n: len(l.props), m: len(l.o.Initial)}
	s.begin(v)
	for !s.reachesObserved() {
		if err := s.addLayer(); err != nil {
			return nil, err
		}
	}
	if s.a.bad(s.levels[len(s.levels)-1].run[s.p]) && !v.Observed {
		return nil, ErrBadBefore
	}
	w := s.witness(v)
	return w, s.check(w)
}

// search goes back from a violation, one layer of nodes for each level.
type search struct {
	l       *Lattice
	p, n, m int // the index of the property; the numbers of properties and of variables
	a       *automaton
	layers  [][]node // the last one farthest back
	levels  []*level // by layer
	found   int      // index in the last layer of the node that the observed run passes
	// values holds the values of the variables at the cuts of the last layer, by index of the
	// cut: passed levels do not keep them.
	values map[int][]uint64
	states []State // scratch
}

// begin makes the layer of the current level: the states from which the event of the violation
// leads to a bad one.
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

// letter returns the letter of an edge by e from a cut with these values, and changes them to
// the values after e.
func (s *search) letter(values []uint64, e *entry) Letter {
	if e.Variable >= 0 {
		values[e.Variable] = e.Value
	}
	return s.a.labels.Letter(values, e.Events&s.a.events)
}

// reachesObserved reports whether the last layer has a node that the observed run passes.
func (s *search) reachesObserved() bool {
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

// addLayer adds the layer of the previous level.
func (s *search) addLayer() error {
	at := len(s.l.history) - len(s.levels)
	if at < s.l.droppedLevels {
		return ErrDropped
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

// parents appends to layer those nodes of level below, not yet in seen, from which one event leads
// to node n, number k of the layer above. It sets before to the values at their cuts, by index.
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

// parentKeys returns the keys, as level below packs them, of the cuts from which one event leads
// to a node. The index of each is -1: not known yet.
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

// find sets each element of index, a map by key, to the index of the level's cut with that key.
func (v *level) find(index map[string]int) {
	var b []byte
	for i := range v.n {
		b = text(b[:0], v.key(i, v.words))
		if _, wanted := index[string(b)]; wanted {
			index[string(b)] = i
		}
	}
}

// text appends a key as bytes, for a map.
func text(into []byte, key []uint64) []byte {
	for _, k := range key {
		into = binary.LittleEndian.AppendUint64(into, k)
	}
	return into
}

// before returns the key of a cut without its last event of a slot, as text; ok is false if
// there is no such event or the lanes of the level cannot hold the counts.
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

// witness returns the run along the nodes from the one that reachesObserved found.
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
		w.Steps = append(w.Steps, Step{e.Seq, n.slot, slices.Clone(values), letter, e.steps>>s.p&1 != 0})
		if n.next < 0 {
			return w
		}
		n = s.layers[k-1][n.next]
	}
}

// latest returns the Seq of that event of a cut that is last in trace order, 0 if none is kept.
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
// non-deterministic monitor may turn bad before the violation, by way of other states: the
// witness then ends there.
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
	return fmt.Errorf("the plain monitor is not bad after all steps (%d)", len(w.Steps))
}
