package goodlock

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/finding"
	"github.com/tracepredict/tracepredict/analysis/locks"
	"github.com/tracepredict/tracepredict/observer/event"
)

// Lock classes, after Linux's lockdep (Documentation/locking/lockdep-design.rst): all
// locks of one field of one type, or made in one place, are one class, and the order
// of locks is that of their classes. So a run shows an order bug although no two of
// its threads took the same pair: a1 before b1, and b2 before a2.
//
// Plainly, the search is that of cycles over the same nestings, in which each lock
// stands for its class (TestClassesAgainstBruteForce). What differs:
//
//   - A cycle whose links are all of one lock each is no news; nor is one of classes of
//     which a cycle of locks is known.
//   - A lock taken inside another of its class says nothing by itself: programs take
//     them by address, or parent before child. Lockdep reports it unless the program
//     is annotated; here it must have been done in both orders with the same two
//     locks, if only by one thread, and by two threads at all.
//   - Threads that hold locks of one more class in common may hold the same one where
//     the instances are shared: that is a gate, as in lockdep it is not.

// Class is what locks are put together by: those of two processes are apart, and so
// are those without a name.
type Class struct {
	Name    string
	Process uint32
}

// classes are the nestings of classes. The zero value has none.
type classes struct {
	a      *Analysis
	search *Analysis // whose locks are classes: each is called by its first lock
	of     map[event.ObjectID]event.ObjectID
	first  map[Class]event.ObjectID
	names  map[event.ObjectID]string // of classes
	inside map[event.ObjectID]*inside
	left   int // pairs that may still be kept
	found  []finding.Finding
	done   map[string]bool // cycles of classes that are known
}

// inside is how locks of one class are taken inside one another.
type inside struct {
	pairs map[[2]event.ObjectID]bool // held, wanted
	both  bool                       // two of them in both orders
	kept  []*instance
}

// maxInside bounds the nestings kept of a class in itself.
const maxInside = 32

func (a *Analysis) newClasses() *classes {
	opts := a.opts
	opts.Explain, opts.OnPattern, opts.OnOpposed, opts.OnTaken, opts.Class = nil, nil, nil, nil, nil
	search := New(opts)
	search.queueing = a.queueing // a class is as its first lock
	return &classes{
		a: a, search: search, of: map[event.ObjectID]event.ObjectID{}, first: map[Class]event.ObjectID{},
		names: map[event.ObjectID]string{}, inside: map[event.ObjectID]*inside{}, left: opts.MaxPatterns, done: map[string]bool{},
	}
}

// class returns the class of a lock, by its first lock; one without a class is its own.
func (c *classes) class(lock event.ObjectID) event.ObjectID {
	if first, ok := c.of[lock]; ok {
		return first
	}
	class := c.a.opts.Class(lock)
	first, ok := c.first[class]
	if class.Name == "" || !ok {
		first = lock
	}
	if class.Name != "" {
		c.first[class], c.names[first] = first, class.Name
	}
	if len(c.of) >= 4*c.a.opts.MaxPatterns {
		clear(c.of) // it is only quicker
	}
	c.of[lock] = first
	return first
}

func (c *classes) member(m member) member { return locks.MemberOf(c.class(m.Lock()), m.Shared()) }

// absorb takes up what a nesting of locks says of classes.
func (c *classes) absorb(p *pattern) {
	if slices.ContainsFunc(p.held, func(m member) bool { return m.Lock() == p.wanted.Lock() }) {
		return // read again: it says nothing of other locks
	}
	wanted := c.member(p.wanted)
	var held []member
	for _, m := range p.held {
		if k := c.member(m); k.Lock() == wanted.Lock() {
			c.nested(wanted.Lock(), m.Lock(), p)
		} else {
			held = append(held, k)
		}
	}
	if len(held) == 0 && len(p.held) > 0 {
		return
	}
	slices.Sort(held)
	held = slices.Compact(held)
	s := c.search
	key := patternKey(held, wanted)
	of := s.patterns[key]
	if of == nil {
		if len(s.ordered) >= s.opts.MaxPatterns {
			c.a.stats.DroppedPatterns++
			return
		}
		s.nextID++
		of = &pattern{id: s.nextID, wanted: wanted, held: held}
		s.patterns[key] = of
		s.ordered = append(s.ordered, of)
	}
	for _, x := range p.kept {
		of.kept = append(of.kept, c.copied(s.room(of), x, p))
	}
}

// copied makes an instance of a class's nesting.
func (c *classes) copied(to, x *instance, p *pattern) *instance {
	*to = *x
	to.original, to.clock = p, c.a.clocks.share(x.clock)
	to.heldAt = slices.Clone(x.heldAt)
	return to
}

// nested notes that a lock was taken inside another of its class.
func (c *classes) nested(class, held event.ObjectID, p *pattern) {
	n := c.inside[class]
	if n == nil {
		n = &inside{pairs: map[[2]event.ObjectID]bool{}}
		c.inside[class] = n
	}
	w := p.wanted.Lock()
	n.both = n.both || n.pairs[[2]event.ObjectID{w, held}]
	if pair := [2]event.ObjectID{held, w}; !n.pairs[pair] && c.left > 0 {
		c.left--
		n.pairs[pair] = true
	}
	for _, x := range p.kept {
		if len(n.kept) < maxInside && !slices.ContainsFunc(n.kept, func(y *instance) bool { return y.thread == x.thread && y.place == x.place }) {
			n.kept = append(n.kept, c.copied(&instance{}, x, p))
		}
	}
}

// classify takes up a nesting that is about to be forgotten.
func (a *Analysis) classify(p *pattern) {
	if a.opts.Class == nil {
		return
	}
	if a.classes == nil {
		a.classes = a.newClasses()
	}
	a.classes.absorb(p)
}

// own returns the nesting of locks that an instance is of, of pattern p.
func (x *instance) own(p *pattern) *pattern {
	if x.original != nil {
		return x.original
	}
	return p
}

// remember adds what the findings may still name.
func (c *classes) remember(n *event.Names) {
	keep := func(x *instance) {
		n.Thread(x.thread.id)
		n.Object(x.original.wanted.Lock())
		for _, id := range x.held {
			n.Object(id)
		}
	}
	for _, p := range c.search.ordered {
		for _, x := range p.kept {
			keep(x)
		}
	}
	for _, in := range c.inside {
		for _, x := range in.kept {
			keep(x)
		}
	}
}

// Classes returns the deadlocks between classes of locks, with Options.Class, each cycle
// of classes once, after Finish. They are potential: the run shows no locks that all
// of their threads took.
func (a *Analysis) Classes() []finding.Finding {
	if a.opts.Class == nil {
		return nil
	}
	for _, p := range a.ordered {
		a.classify(p)
	}
	c := a.classes
	if c == nil {
		return nil
	}
	for _, r := range a.final {
		c.done[c.known(r)] = true
	}
	s := c.search.newSearch()
	s.closed = func(ring []*pattern) {
		if s.tuples = 0; len(c.found) < a.opts.MaxFindings && !c.done[c.ring(ring)] {
			s.choose(0)
		}
	}
	s.found = c.take
	s.run()
	a.stats.BudgetHit = a.stats.BudgetHit || s.steps < 0
	c.alone()
	return c.found
}

// known is the cycle of classes of a cycle of locks.
func (c *classes) known(r *report) string {
	ids := make([]event.ObjectID, 0, len(r.steps))
	for _, s := range r.steps {
		ids = append(ids, c.class(s.Object))
	}
	return ringOf(ids)
}

func (c *classes) ring(ring []*pattern) string {
	ids := make([]event.ObjectID, 0, len(ring))
	for _, p := range ring {
		ids = append(ids, p.wanted.Lock())
	}
	return ringOf(ids)
}

// ringOf is the same wherever a cycle is begun.
func ringOf(ids []event.ObjectID) string {
	best := ""
	for i := range ids {
		var b []byte
		for j := range ids {
			b = binary.BigEndian.AppendUint64(b, uint64(ids[(i+j)%len(ids)]))
		}
		if best == "" || string(b) < best {
			best = string(b)
		}
	}
	return best
}

// take makes a finding of a cycle of classes, unless each of its links is one lock.
func (c *classes) take(ring []*pattern, choice []*instance) {
	key, same := c.ring(ring), true
	for i, x := range choice {
		same = same && x.original.waitsFor(choice[(i+1)%len(choice)].original)
	}
	if same || c.done[key] {
		return
	}
	c.done[key] = true
	c.add(choice)
}

// alone finds the classes whose locks are taken inside one another in both orders.
func (c *classes) alone() {
	var all []event.ObjectID
	for class, n := range c.inside {
		if n.both && !c.done[ringOf([]event.ObjectID{class, class})] {
			all = append(all, class)
		}
	}
	slices.Sort(all)
	for _, class := range all {
		if x, y := c.inside[class].meet(); x != nil && len(c.found) < c.a.opts.MaxFindings {
			c.add([]*instance{x, y})
		}
	}
}

// meet finds two nestings of a class that two threads can be in at one time.
func (n *inside) meet() (x, y *instance) {
	for i, x := range n.kept {
		for _, y := range n.kept[i+1:] {
			if canMeet(x.original, x, y.original, y) {
				return x, y
			}
		}
	}
	return nil, nil
}

// add makes the finding; its first side is the earliest.
func (c *classes) add(choice []*instance) {
	first := 0
	for i, x := range choice {
		if x.last.seq < choice[first].last.seq {
			first = i
		}
	}
	f := finding.Finding{Kind: finding.Deadlock, Confidence: finding.Potential, Count: 1}
	var threads []string
	for i := range choice {
		x := choice[(first+i)%len(choice)]
		s := x.step(x.original, x.last)
		f.Evidence = append(f.Evidence, s)
		f.Objects, f.Threads = append(f.Objects, s.Object), append(f.Threads, s.Thread)
		f.Bounded = f.Bounded || s.Flags&event.Timed != 0
		if name := c.names[c.class(s.Object)]; name != "" && !slices.Contains(f.Classes, name) {
			f.Classes = append(f.Classes, name)
		}
		threads = append(threads, fmt.Sprintf("T%d", s.Thread))
	}
	slices.Sort(f.Classes)
	which := fmt.Sprintf("locks of the classes '%s'", strings.Join(f.Classes, "' and '"))
	if len(f.Classes) == 1 {
		which = fmt.Sprintf("locks of the class '%s'", f.Classes[0])
		if len(f.Objects) > 1 && c.class(f.Objects[0]) != c.class(f.Objects[1]) {
			which += " and another"
		}
	}
	f.Message = fmt.Sprintf("%s are taken in orders that can block threads for ever, by %s: they took other locks than each other, but nothing keeps them from taking the same",
		which, strings.Join(threads, " and "))
	f.Reason = "the run shows no locks that all of these threads took: only the classes of the locks form a ring (--lock-classes)"
	c.found = append(c.found, f)
}
