package lattice

import (
	"encoding/binary"
	"slices"
)

// automaton is a property's monitor with its sets of states. A set consists of the states
// that are not bad, and of whether some run has turned bad. Of a small monitor it is a mask
// (masks.go). Otherwise it is interned, and steps and unions are computed once.
type automaton struct {
	masks
	monitor   Monitor
	labels    Labels
	all       bool   // the monitor reads a letter at the writes of every variable
	variables []bool // by variable: it reads a letter at its writes
	events    uint64 // the declared events at which it reads a letter

	sets        []set             // the interned sets, by number
	numbers     map[string]uint32 // of sets, by encodeSet
	letters     interned
	letterCache letterCache
	stride      int      // number of letters that a row of steps has room for
	steps       []uint32 // [set*stride + letter]: number of the set that follows, plus 1, and turnsBad; 0: not computed yet
	unions      []union  // direct-mapped cache, by unionSlot

	states []State // scratch
	more   []State // scratch
	text   []byte  // scratch
}

// set is an interned set.
type set struct {
	states []State // sorted, without bad ones
	bad    bool    // some run has turned bad
}

// union is a cached union of the sets a and b.
type union struct {
	a, b uint32
	set  uint32 // number plus 1; 0: none
}

const (
	turnsBad  = 1 << 31 // in automaton.steps: a run turns bad by the step
	unionSize = 1 << 12
	maxSets   = 1 << 16 // number of sets beyond which those that no cut has are dropped
	maxSteps  = 1 << 22 // number of computed steps with the same effect
)

// newAutomaton returns the automaton of a property.
func newAutomaton(p *Property) *automaton {
	a := &automaton{
		monitor: p.Monitor, labels: p.Labels, all: p.Variables == nil, events: p.Events, numbers: map[string]uint32{}, stride: 16,
	}
	if a.masks = newMasks(p.Monitor); !a.masked() {
		a.unions = make([]union, unionSize)
	}
	for _, v := range p.Variables {
		for len(a.variables) <= v {
			a.variables = append(a.variables, false)
		}
		a.variables[v] = true
	}
	a.letterCache.variables = p.Variables
	return a
}

// reads reports whether the monitor reads a letter at the event.
func (a *automaton) reads(e *Event) bool {
	return e.Events&a.events != 0 || e.Variable >= 0 && (a.all || e.Variable < len(a.variables) && a.variables[e.Variable])
}

// begin returns the set after the initial letter, and whether a run turns bad by it.
func (a *automaton) begin(values []uint64) (s uint32, turnsBad bool) {
	a.states = a.monitor.Start(a.states[:0])
	start := maskOf(a.states)
	if !a.masked() {
		start = a.intern(a.states, false)
	}
	return a.step(start, a.letter(values, 0))
}

// letter returns the number of the letter of an edge.
func (a *automaton) letter(values []uint64, events uint64) uint32 {
	if a.all || len(a.letterCache.variables) > maxCachedLetters {
		return a.evaluate(values, events)
	}
	if !a.letterCache.enabled() {
		return a.evaluate(values, events)
	}
	at := a.letterCache.find(values, events)
	if *at == 0 {
		*at = a.evaluate(values, events) + 1
	} else {
		a.letterCache.hits++
	}
	return *at - 1
}

// evaluate is letter without the cache.
func (a *automaton) evaluate(values []uint64, events uint64) uint32 {
	id := a.letters.id(a.labels.Letter(values, events))
	switch {
	case a.masked():
		if int(id) >= len(a.turning) {
			a.learn(a.monitor, a.letters.list)
		}
	case int(id) >= a.stride:
		a.widen()
	}
	return id
}

// widen doubles the stride.
func (a *automaton) widen() {
	steps := make([]uint32, 2*len(a.steps))
	for i := range a.sets {
		copy(steps[2*i*a.stride:], a.steps[i*a.stride:(i+1)*a.stride])
	}
	a.steps, a.stride = steps, 2*a.stride
}

// step returns the set that follows from a set by a letter, and whether a run turns bad by it.
func (a *automaton) step(s, letter uint32) (uint32, bool) {
	if a.masked() {
		return a.successor(s, letter), s&a.turning[letter] != 0
	}
	if known := a.steps[int(s)*a.stride+int(letter)]; known != 0 {
		return known&^turnsBad - 1, known&turnsBad != 0
	}
	to, fresh := a.compute(s, a.letters.list[letter])
	known := to + 1
	if fresh {
		known |= turnsBad
	}
	a.steps[int(s)*a.stride+int(letter)] = known
	return to, fresh
}

// compute is step for an interned set, without the table of steps.
func (a *automaton) compute(s uint32, l Letter) (to uint32, fresh bool) {
	a.states = a.states[:0]
	for _, q := range a.sets[s].states {
		a.states = a.monitor.Step(a.states, q, l)
	}
	n := len(a.states)
	a.states = slices.DeleteFunc(a.states, a.monitor.Bad)
	fresh = len(a.states) < n
	return a.intern(a.states, fresh || a.sets[s].bad), fresh
}

// intern returns the number of a set. The states must not be bad; they may be in any order and
// may repeat.
func (a *automaton) intern(states []State, bad bool) uint32 {
	a.text, states = encodeSet(a.text[:0], states, bad)
	if s, ok := a.numbers[string(a.text)]; ok {
		return s
	}
	s := uint32(len(a.sets))
	a.numbers[string(a.text)] = s
	a.sets = append(a.sets, set{slices.Clone(states), bad})
	for range a.stride {
		a.steps = append(a.steps, 0)
	}
	return s
}

// encodeSet sorts states, removes duplicates, and appends an encoding of the set to into.
func encodeSet(into []byte, states []State, bad bool) ([]byte, []State) {
	slices.Sort(states)
	states = slices.Compact(states)
	if bad {
		into = append(into, 1)
	}
	for _, q := range states {
		into = binary.LittleEndian.AppendUint32(into, q)
	}
	return into, states
}

// unionSlot returns the index of the union of two sets in a cache of unionSize.
func unionSlot(s, t uint32) uint64 { return (uint64(s)<<32 | uint64(t)) * multiplier >> 52 }

// union returns the union of two interned sets.
func (a *automaton) union(s, t uint32) uint32 {
	if s == t {
		return s
	}
	if s > t {
		s, t = t, s
	}
	known := &a.unions[unionSlot(s, t)]
	if known.set == 0 || known.a != s || known.b != t {
		a.more = append(append(a.more[:0], a.sets[s].states...), a.sets[t].states...)
		*known = union{s, t, a.intern(a.more, a.sets[s].bad || a.sets[t].bad) + 1}
	}
	return known.set - 1
}

// large reports whether the tables have become so large that shrink should be called.
func (a *automaton) large() bool {
	return len(a.sets) > maxSets || len(a.steps) > maxSteps || len(a.successors) > maxSteps
}

// statesOf returns the states of a set. They are valid until the next call.
func (a *automaton) statesOf(s uint32) []State {
	if a.masked() {
		a.more = statesOf(a.more[:0], s)
		return a.more
	}
	return a.sets[s].states
}

// bad reports whether some run into a set has turned bad.
func (a *automaton) bad(s uint32) bool {
	if a.masked() {
		return s&someBad != 0
	}
	return a.sets[s].bad
}

// shrink drops all letters and steps, and all sets except those that used refers to, whose
// numbers it updates.
func (a *automaton) shrink(used []*uint32) {
	old := a.sets
	a.sets, a.steps, a.stride = nil, nil, 16
	a.letters = interned{}
	a.successors, a.turning = a.successors[:0], a.turning[:0]
	clear(a.letterCache.ids)
	clear(a.numbers)
	clear(a.unions)
	if a.masked() {
		return
	}
	for _, s := range used {
		a.more = append(a.more[:0], old[*s].states...)
		*s = a.intern(a.more, old[*s].bad)
	}
}

// interned numbers letters from 0.
type interned struct {
	list  []Letter
	slots []uint32   // a hash table with open addressing: the number plus 1; 0: free
	small [64]uint32 // by letter below 64: likewise
}

// id returns the number of a letter, which it adds if it is new.
func (n *interned) id(l Letter) uint32 {
	if l >= uint64(len(n.small)) {
		return n.find(l)
	}
	if n.small[l] == 0 {
		n.small[l] = n.find(l) + 1
	}
	return n.small[l] - 1
}

// find is id without small.
func (n *interned) find(l Letter) uint32 {
	if 2*len(n.list) >= len(n.slots) {
		n.grow()
	}
	mask := uint64(len(n.slots) - 1)
	for at := l * multiplier >> 32 & mask; ; at = (at + 1) & mask {
		s := n.slots[at]
		if s == 0 {
			n.list = append(n.list, l)
			n.slots[at] = uint32(len(n.list))
			return uint32(len(n.list) - 1)
		}
		if n.list[s-1] == l {
			return s - 1
		}
	}
}

// known returns the number of a letter plus 1, 0 if it has none. It changes nothing, and may be
// called concurrently.
func (n *interned) known(l Letter) uint32 {
	if len(n.slots) == 0 {
		return 0
	}
	mask := uint64(len(n.slots) - 1)
	at := l * multiplier >> 32 & mask
	for s := n.slots[at]; s != 0 && n.list[s-1] != l; s = n.slots[at] {
		at = (at + 1) & mask
	}
	return n.slots[at]
}

// grow doubles the hash table.
func (n *interned) grow() {
	list := n.list
	*n = interned{slots: make([]uint32, max(64, 2*len(n.slots))), small: n.small}
	for _, l := range list {
		n.find(l)
	}
}

// shrink drops the sets of monitor states that no cut of the current level or of the history
// has, where there are too many.
func (l *Lattice) shrink() {
	for p, a := range l.props {
		if !a.large() {
			continue
		}
		var used []*uint32
		for _, v := range append([]*level{l.current}, l.history[l.droppedLevels:]...) {
			for i := p; i < len(v.sets); i += len(l.props) {
				used = append(used, &v.sets[i])
			}
			if p < len(v.run) {
				used = append(used, &v.run[p])
			}
		}
		a.shrink(used)
		l.mergers = nil // their caches contain numbers of sets
	}
}

// letterCache is a direct-mapped cache of letters, by the events and values that they are
// computed from: the values of a few variables often recur. Where they do not, the cache is
// not used for a while.
type letterCache struct {
	variables []int    // the variables
	keys      []uint64 // by element of ids: the events, and the values of the variables
	ids       []uint32 // numbers of letters plus 1; 0: none
	lookups   int      // letters in this period
	hits      int      // those of them that were found
	idle      bool     // in this period the cache is not used
}

const (
	maxCachedLetters  = 8       // the most variables with a cache: the values of more rarely recur
	letterCacheSize   = 1 << 10 // elements of a cache
	letterCachePeriod = 1 << 10 // letters of a period; with few hits, an idle one follows
	letterCacheIdle   = 1 << 14 // letters of an idle period
)

// enabled counts a letter, and reports whether to look for it in the cache.
func (c *letterCache) enabled() bool {
	c.lookups++
	switch {
	case c.idle && c.lookups > letterCacheIdle:
		c.lookups, c.hits, c.idle = 0, 0, false
	case !c.idle && c.lookups > letterCachePeriod:
		c.idle = c.hits < letterCachePeriod/2
		c.lookups, c.hits = 0, 0
	}
	return !c.idle
}

// view is an automaton as one core of several uses it: the core may not change the automaton,
// and has caches of its own. Results that the automaton has not computed are missing.
type view struct {
	a           *automaton
	last        pendingSet // the pending set of the cut that is being built
	letterCache letterCache
	unions      []union
	states      []State
	text        []byte
}

// letter returns the number of the letter of an edge plus 1, 0 if it has none yet.
func (w *view) letter(values []uint64, events uint64) uint32 {
	if w.a.all || len(w.letterCache.variables) > maxCachedLetters {
		return w.a.letters.known(w.a.labels.Letter(values, events))
	}
	if !w.letterCache.enabled() {
		return w.a.letters.known(w.a.labels.Letter(values, events))
	}
	at := w.letterCache.find(values, events)
	if *at == 0 {
		*at = w.a.letters.known(w.a.labels.Letter(values, events))
	} else {
		w.letterCache.hits++
	}
	return *at
}

// union returns the number of the union of two sets plus 1, 0 if the automaton has not interned
// it.
func (w *view) union(s, t uint32) uint32 {
	if s > t {
		s, t = t, s
	}
	known := &w.unions[unionSlot(s, t)]
	if known.set == 0 || known.a != s || known.b != t {
		a, b := &w.a.sets[s], &w.a.sets[t]
		w.states = append(append(w.states[:0], a.states...), b.states...)
		w.text, w.states = encodeSet(w.text[:0], w.states, a.bad || b.bad)
		u, ok := w.a.numbers[string(w.text)]
		if !ok {
			return 0
		}
		*known = union{s, t, u + 1}
	}
	return known.set
}

// find returns the element of ids for the letter of these values and events. If the cache does not
// have that letter, the element is 0, and the letter that it held before is discarded.
func (c *letterCache) find(values []uint64, events uint64) *uint32 {
	if c.ids == nil {
		c.ids, c.keys = make([]uint32, letterCacheSize), make([]uint64, letterCacheSize*(len(c.variables)+1))
	}
	h := events * multiplier
	for _, v := range c.variables {
		h = (h ^ values[v]) * multiplier
		h ^= h >> 29
	}
	at := h * multiplier >> 54
	n := len(c.variables) + 1
	key := c.keys[int(at)*n : (int(at)+1)*n]
	same := key[0] == events
	key[0] = events
	for i, v := range c.variables {
		same = same && key[i+1] == values[v]
		key[i+1] = values[v]
	}
	if !same {
		c.ids[at] = 0
	}
	return &c.ids[at]
}
